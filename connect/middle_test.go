package connect_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// middle is an attacker on the line between an app and a host. It sees every frame and
// decides what arrives; it holds no key.
type middle struct {
	t             testing.TB
	toApp, toHost connect.Transport // its ends towards each
}

// pass moves the next frame of one side to the other and returns it.
func (m *middle) pass(from, to connect.Transport) []byte {
	m.t.Helper()
	frame := m.take(from)
	m.put(to, frame)
	return frame
}

func (m *middle) up() []byte   { m.t.Helper(); return m.pass(m.toApp, m.toHost) }
func (m *middle) down() []byte { m.t.Helper(); return m.pass(m.toHost, m.toApp) }

func (m *middle) take(from connect.Transport) []byte {
	m.t.Helper()
	frame, err := from.Recv(m.t.Context())
	require.NoError(m.t, err)
	return frame
}

func (m *middle) put(to connect.Transport, frame []byte) {
	m.t.Helper()
	require.NoError(m.t, to.Send(m.t.Context(), frame))
}

// answered takes the answer that one side gave and returns its error as "code/kind".
func (m *middle) answered(from connect.Transport) string {
	m.t.Helper()
	var doc object
	require.NoError(m.t, json.Unmarshal(m.take(from), &doc))
	return errorOf(doc)
}

// handshake is what the middle sees of one.
type handshakeFrames struct{ hello, answer, session []byte }

// tapped is a session with somebody in the middle.
type tapped struct {
	link
	*middle
	seen handshakeFrames
}

// tap holds a session between an app and a server through a middle that passed the
// handshake on.
func tap(t testing.TB, s *connect.Server, cfg connect.DialConfig) *tapped {
	t.Helper()
	j := startTap(t, s, cfg)
	j.seen = handshakeFrames{j.up(), j.down(), j.down()}
	j.finish()
	return j.tapped
}

// tapping is a tapped handshake under way.
type tapping struct {
	*tapped
	dialed, accepted chan error
}

func startTap(t testing.TB, s *connect.Server, cfg connect.DialConfig) *tapping {
	t.Helper()
	appNear, appFar := connect.Pipe()
	hostNear, hostFar := connect.Pipe()
	j := &tapping{
		tapped: &tapped{middle: &middle{t, appFar, hostNear}},
		dialed: make(chan error, 1), accepted: make(chan error, 1),
	}
	t.Cleanup(func() { // in the bubble: nobody is left behind
		appFar.Close()
		hostNear.Close()
	})
	go func() {
		var err error
		j.host, err = s.Accept(t.Context(), hostFar)
		j.accepted <- err
	}()
	go func() {
		var err error
		j.app, err = connect.Dial(t.Context(), appNear, cfg)
		j.dialed <- err
	}()
	return j
}

// finish waits until both sides are established.
func (j *tapping) finish() {
	j.t.Helper()
	require.NoError(j.t, <-j.dialed)
	require.NoError(j.t, <-j.accepted)
}

// runs counts how often a handler ran.
type runs struct{ n atomic.Int32 }

func (r *runs) handler(_ context.Context, args json.RawMessage) (any, error) {
	r.n.Add(1)
	return args, nil
}

// attacked runs f with a server that serves echo and counts, and apps that do so too.
func attacked(t *testing.T, f func(t *testing.T, s *connect.Server, served *runs)) {
	t.Helper()
	served := new(runs)
	cfg := serverConfig()
	cfg.Tools = spoke.ToolHandlers{echoTool: served.handler}
	serving(t, cfg, func(t *testing.T, s *connect.Server) { f(t, s, served) })
}

// victim is an app whose tools count.
func victim(served *runs) connect.DialConfig {
	cfg := dialConfig()
	cfg.Tools = spoke.ToolHandlers{echoTool: served.handler}
	return cfg
}
