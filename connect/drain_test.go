package connect_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// lingering is a transport whose goodbye takes a while.
type lingering struct {
	connect.Transport
	said bool
}

func (l *lingering) Finish() error {
	<-time.After(500 * time.Millisecond)
	l.said = true
	return l.Close()
}

func TestShutdownOfASessionSaysGoodbyeFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := connect.Pipe()
		slow := &lingering{Transport: a}
		l := connectOver(t, slow, b, dialConfig(), responderConfig())
		require.NoError(t, l.app.Shutdown(t.Context()))
		assert.True(t, slow.said)
		l.host.Wait()
	})
}

func TestAPeerThatGoesOnAskingDoesNotHoldShutdown(t *testing.T) {
	respond := responderConfig()
	bubble(t, func(t *testing.T) {
		served := make(chan struct{})
		respond.Tools = spoke.ToolHandlers{echoTool: func(context.Context, json.RawMessage) (any, error) {
			<-served
			return nil, nil
		}}
		s, p := newWirePeer(t, "host", dialConfig(), respond)
		defer s.Wait()
		defer s.Close()
		ask := func() {
			p.send(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)))
			p.sequence++
		}
		ask()
		synctest.Wait()
		over := make(chan error, 1)
		go func() { over <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		for range 40 { // refused, and more than the pipe holds
			ask()
			synctest.Wait()
		}
		close(served)
		began := time.Now()
		for len(over) == 0 && time.Since(began) < time.Hour {
			<-time.After(time.Second)
			if len(over) == 0 {
				ask()
				p.recv()
			}
		}
		assert.Less(t, time.Since(began), time.Hour)
	})
}
