package connect_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// gated is a transport whose Send can be made to wait, and which tells whether it will.
type gated struct {
	connect.Transport
	shut  chan struct{} // Send waits while it is open; nil lets everything through
	asked []int
}

func (g *gated) HasRoom(bytes int) bool {
	g.asked = append(g.asked, bytes)
	return g.shut == nil
}

func (g *gated) Send(ctx context.Context, frame []byte) error {
	if g.shut != nil {
		select {
		case <-g.shut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Transport.Send(ctx, frame)
}

func TestACallerIsHeldByNoWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := connect.Pipe()
		gate := &gated{Transport: a}
		l := connectOver(t, gate, b, dialConfig(), responderConfig())
		defer l.close()
		app := l.app
		_, err := app.InvokeTool(t.Context(), echoTool, raw(`{}`))
		require.NoError(t, err)
		require.Len(t, gate.asked, 1, "only a request asks for room")
		assert.Greater(t, gate.asked[0], 100)

		gate.shut = make(chan struct{})
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		call := start(ctx, app.Session, echoTool)
		synctest.Wait()
		cancel()
		_, err = call.wait()
		assert.Equal(t, spoke.KindCanceled, spoke.KindOf(err))
		assert.Zero(t, time.Since(began))

		close(gate.shut) // the frame goes out all the same, and its answer is dropped
		synctest.Wait()
		_, err = app.InvokeTool(t.Context(), echoTool, raw(`{}`))
		require.NoError(t, err, "no gap in the sequence")
	})
}

func TestWaitWaitsForTheWriteOfACaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := connect.Pipe()
		shut := make(chan struct{})
		held := &heedless{Transport: a}
		l := connectOver(t, held, b, dialConfig(), responderConfig())
		defer l.close()
		held.shut = shut
		call := start(t.Context(), l.app.Session, echoTool)
		synctest.Wait()
		l.app.Close()
		over := make(chan struct{})
		go func() {
			defer close(over)
			l.app.Wait()
		}()
		synctest.Wait()
		select {
		case <-over:
			require.Fail(t, "Wait is over while Send runs")
		default:
		}
		close(shut)
		<-over
		_, err := call.wait()
		assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
	})
}

// heedless is a transport with room whose Send, once shut is set, waits for it whatever
// else ends.
type heedless struct {
	connect.Transport
	shut chan struct{}
}

func (h *heedless) HasRoom(int) bool { return true }

func (h *heedless) Send(ctx context.Context, frame []byte) error {
	if h.shut != nil {
		<-h.shut
	}
	return h.Transport.Send(ctx, frame)
}

// What an invoke left behind must not reach the next one, which may use the same waiter.
func TestAnInvokeGetsItsOwnAnswerAfterOthersGaveUp(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		for round := range 200 {
			gone := start(connect.WithInvokeTimeout(t.Context(), time.Second), s, otherTool)
			late := p.recv()
			_, err := gone.wait()
			require.Equal(t, spoke.KindTimeout, spoke.KindOf(err))

			call := start(t.Context(), s, otherTool)
			request := p.recv()
			p.respond(late, "payload", object{"result": "late"})
			p.respond(request, "payload", object{"result": round})
			got, err := call.wait()
			require.NoError(t, err)
			require.Equal(t, string(raw("%d", round)), string(got))
		}
	})
}

func TestAWriteThatFailsFailsItsInvoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		a, b := connect.Pipe()
		fails := &roomy{Transport: a}
		l := connectOver(t, fails, b, dialConfig(), responderConfig())
		defer l.close()
		fails.err = broken
		_, err := l.app.InvokeTool(t.Context(), echoTool, raw(`{}`))
		assert.Equal(t, spoke.KindTransport, spoke.KindOf(err))
		require.ErrorIs(t, err, broken)
		require.ErrorIs(t, l.app.Wait(), broken)
	})
}

// roomy is a transport with room whose Send fails once err is set.
type roomy struct {
	connect.Transport
	err error
}

func (f *roomy) HasRoom(int) bool { return true }

func (f *roomy) Send(ctx context.Context, frame []byte) error {
	if f.err != nil {
		return f.err
	}
	return f.Transport.Send(ctx, frame)
}
