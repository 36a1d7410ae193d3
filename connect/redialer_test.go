package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

var errNetworkDown = errors.New("network down")

// network leads to a server while it is up.
type network struct {
	t  testing.TB
	mu sync.Mutex

	server *connect.Server // nil while the network is down
	opened []time.Time     // attempts
	answer func(far connect.Transport)
	lines  []connect.Transport
}

func (n *network) open(context.Context) (connect.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = append(n.opened, time.Now())
	if n.server == nil && n.answer == nil {
		return nil, errNetworkDown
	}
	near, far := connect.Pipe()
	n.lines = append(n.lines, far)
	if n.answer != nil {
		go n.answer(far)
	} else {
		go n.server.Serve(n.t.Context(), far)
	}
	return near, nil
}

// to leads the network to a server, nil takes it down; connections break and both
// sides have noticed when it returns.
func (n *network) to(s *connect.Server) {
	n.lead(s)
	synctest.Wait()
}

func (n *network) lead(s *connect.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server = s
	for _, line := range n.lines {
		line.Close()
	}
	n.lines = nil
}

func (n *network) attempts() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.opened)
}

// redialing is a redialer that runs.
type redialing struct {
	*connect.Redialer
	cancel context.CancelFunc
	done   chan error

	mu     sync.Mutex
	states []string
}

func (r *redialing) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.states...)
}

func redialConfig(n *network) connect.RedialConfig {
	return connect.RedialConfig{DialConfig: dialConfig(), Open: n.open}
}

func redial(t testing.TB, cfg connect.RedialConfig) *redialing {
	t.Helper()
	r := &redialing{done: make(chan error, 1)}
	cfg.OnState = func(state connect.State, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		text := state.String()
		if err != nil {
			text += " " + whatWentWrong(err)
		}
		r.states = append(r.states, text)
	}
	var err error
	r.Redialer, err = connect.NewRedialer(cfg)
	require.NoError(t, err)
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	go func() { r.done <- r.Run(ctx) }()
	return r
}

func whatWentWrong(err error) string {
	var failure *connect.HandshakeError
	switch {
	case errors.Is(err, errNetworkDown):
		return "network down"
	case errors.As(err, &failure):
		return failure.Code
	case errors.Is(err, connect.ErrSessionClosed):
		return "session closed"
	}
	return err.Error()
}

// redialed runs f with a network, a server and a redialer, and ends them.
func redialed(t *testing.T, change func(*connect.RedialConfig), f func(t *testing.T, n *network, s *connect.Server, r *redialing)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		s := newServer(t, serverConfig())
		defer closeServer(t, s)
		n := &network{t: t, server: s}
		cfg := redialConfig(n)
		if change != nil {
			change(&cfg)
		}
		r := redial(t, cfg)
		f(t, n, s, r)
		r.cancel()
		assert.NoError(t, <-r.done)
		assert.Equal(t, connect.Closed, r.State())
		n.to(nil)
	})
}

func TestRedialerKeepsASessionUp(t *testing.T) {
	redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		synctest.Wait()
		first := r.Session()
		require.NotNil(t, first)
		for range 3 {
			_, err := r.InvokeTool(t.Context(), echoTool, nil)
			require.NoError(t, err)
		}
		n.to(s) // the connection breaks, the network is still there
		<-first.Done()
		if again := r.Session(); again != nil {
			assert.NotEqual(t, first.ID(), again.ID(), "one that ended is none")
		}
		_, err := r.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err, "it waited for the next session")
		assert.NotEqual(t, first.ID(), r.Session().ID())
		assert.Equal(t, []string{
			"Handshaking", "Established", "Disconnected session closed", "Handshaking", "Established",
		}, r.told())
		assert.Equal(t, 2, n.attempts())
	})
}

func TestRedialerWaitsLongerAndLongerAndByChance(t *testing.T) {
	told := make(chan time.Duration, 100)
	redialed(t, func(cfg *connect.RedialConfig) { cfg.OnDelay = func(delay time.Duration) { told <- delay } }, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		synctest.Wait()
		n.to(nil)
		<-time.After(10 * time.Minute)
		n.mu.Lock()
		attempts := n.opened
		n.mu.Unlock()
		want := 500 * time.Millisecond
		var waits []time.Duration
		for i := 1; i < len(attempts); i++ {
			waits = append(waits, attempts[i].Sub(attempts[i-1]))
			assert.InDelta(t, want, waits[i-1], float64(want)/2+1e6, "wait %d", i)
			assert.Equal(t, waits[i-1], <-told, "wait %d was told", i)
			want = min(want*3/2, 30*time.Second)
		}
		assert.Greater(t, len(waits), 20)
		last := waits[len(waits)-6:]
		assert.NotEqual(t, last[0], last[1], "no two dialers keep step")

		n.to(s)
		_, err := r.AwaitSession(t.Context())
		require.NoError(t, err)
		<-time.After(time.Minute)
		before := n.attempts()
		n.to(s)
		<-time.After(750 * time.Millisecond)
		assert.Equal(t, before+1, n.attempts(), "a session that lasted makes the waits short again")
	})
}

func TestASessionThatKeepsBreakingIsNotRedialedInATightLoop(t *testing.T) {
	redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		for range 600 {
			<-time.After(time.Second)
			for session := range s.Sessions() {
				session.Close()
			}
		}
		assert.Less(t, n.attempts(), 60)
	})
}

func TestRegisteredHandlersServeEverySession(t *testing.T) {
	redialed(t, func(cfg *connect.RedialConfig) {
		cfg.Tools = spoke.ToolHandlers{echoTool: echo, otherTool: echo}
	}, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		ask := func(tool string) string {
			_, err := r.AwaitSession(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			value, err := s.SessionsOf(appID.PeerID())[0].InvokeTool(t.Context(), tool, nil)
			if err != nil {
				return string(spoke.CodeOf(err))
			}
			return string(value)
		}
		assert.Equal(t, "CAPABILITY_PORT_MISSING", ask(slowTool))
		require.NoError(t, r.RegisterToolHandler(slowTool, func(context.Context, json.RawMessage) (any, error) { return "registered", nil }))
		require.NoError(t, r.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { return "replaced", nil }))
		require.Error(t, r.RegisterToolHandler("no tool", echo))
		require.Error(t, r.RegisterToolHandler(slowTool, nil))
		for range 2 {
			assert.Equal(t, `"registered"`, ask(slowTool))
			assert.Equal(t, `"replaced"`, ask(otherTool))
			assert.Equal(t, `{}`, ask(echoTool))
			n.to(s)
		}
	})
}

func TestAnInvokeWhileDown(t *testing.T) {
	t.Run("waits for the next session", func(t *testing.T) {
		redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
			n.to(nil)
			synctest.Wait()
			call := make(chan error, 2)
			go func() { _, err := r.InvokeTool(t.Context(), echoTool, nil); call <- err }()
			go func() { _, err := r.Invoke(t.Context(), echoTool, object{"arguments": object{}}); call <- err }()
			<-time.After(time.Hour)
			assert.Empty(t, call)
			n.to(s)
			require.NoError(t, <-call)
			require.NoError(t, <-call)
		})
	})

	t.Run("waits no longer than its context", func(t *testing.T) {
		redialed(t, nil, func(t *testing.T, n *network, _ *connect.Server, r *redialing) {
			n.to(nil)
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := r.InvokeTool(ctx, echoTool, nil)
			assert.Equal(t, spoke.KindTimeout, spoke.KindOf(err))
			ctx, cancel = context.WithCancel(t.Context())
			cancel()
			_, err = r.InvokeTool(ctx, echoTool, nil)
			assert.ErrorIs(t, err, context.Canceled)
		})
	})

	t.Run("fails at once by choice", func(t *testing.T) {
		redialed(t, func(cfg *connect.RedialConfig) { cfg.FailFast = true }, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
			n.to(nil)
			synctest.Wait()
			began := time.Now()
			_, err := r.InvokeTool(t.Context(), echoTool, nil)
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "session_closed"})
			assert.Zero(t, time.Since(began))
			n.to(s)
			_, err = r.AwaitSession(t.Context())
			require.NoError(t, err)
			_, err = r.InvokeTool(t.Context(), echoTool, nil)
			require.NoError(t, err)
		})
	})

	t.Run("fails at once with an id outside the grammar", func(t *testing.T) {
		redialed(t, nil, func(t *testing.T, n *network, _ *connect.Server, r *redialing) {
			n.to(nil)
			synctest.Wait()
			_, err := r.InvokeTool(t.Context(), "no tool", nil)
			assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
		})
	})

	t.Run("fails when no session will come", func(t *testing.T) {
		redialed(t, nil, func(t *testing.T, n *network, _ *connect.Server, r *redialing) {
			n.to(nil)
			synctest.Wait()
			call := make(chan error, 1)
			go func() { _, err := r.InvokeTool(t.Context(), echoTool, nil); call <- err }()
			synctest.Wait()
			r.cancel()
			err := <-call
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "session_closed"})
			assert.ErrorIs(t, err, connect.ErrSessionClosed)
		})
	})

	t.Run("that was sent before the session ended is not repeated", func(t *testing.T) {
		redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
			_, err := r.AwaitSession(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			var ran int
			s.SessionsOf(appID.PeerID())[0].RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) {
				ran++
				n.lead(s)
				return nil, nil
			})
			_, err = r.InvokeTool(t.Context(), otherTool, nil)
			assert.ErrorIs(t, err, connect.ErrSessionClosed)
			assert.Equal(t, 1, ran)
		})
	})
}

func TestRedialerRunsOnce(t *testing.T) {
	redialed(t, nil, func(t *testing.T, _ *network, _ *connect.Server, r *redialing) {
		synctest.Wait()
		require.Error(t, r.Run(t.Context()))
		assert.Equal(t, connect.Established, r.State())
	})
}

func TestAPeerThatComesBackAfterTheServerLostItsMemory(t *testing.T) {
	redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		for i := range 5 { // the host crashes and starts again
			_, err := r.InvokeTool(t.Context(), echoTool, object{"i": i})
			require.NoError(t, err)
			again := newServer(t, serverConfig())
			defer closeServer(t, again)
			n.to(again)
		}
		_, err := r.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	})
}

func ExampleRedialer() {
	host, _ := connect.NewServer(serverConfig())
	redialer, err := connect.NewRedialer(connect.RedialConfig{
		DialConfig: dialConfig(),
		Open: func(context.Context) (connect.Transport, error) { // ws.Dial(ctx, url, nil)
			near, far := connect.Pipe()
			go host.Serve(context.Background(), far)
			return near, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- redialer.Run(ctx) }()

	// It waits for the first session.
	got, err := redialer.InvokeTool(ctx, echoTool, map[string]int{"n": 1})
	fmt.Println(string(got), err)
	cancel()
	fmt.Println(<-stopped)
	host.Close()
	host.Shutdown(context.Background())
	// Output:
	// {"n":1} <nil>
	// <nil>
}

func ExampleServer() {
	host, err := connect.NewServer(connect.ServerConfig{
		ResponderConfig: connect.ResponderConfig{Config: baseConfig(hostID, appID)},
		Second:          connect.ReplaceFirst,
		OnClose:         func(app *connect.Responder, cause error) { fmt.Println("left:", cause) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	near, far := connect.Pipe() // ws.Handler(host, nil) is an http.Handler
	go host.Serve(context.Background(), far)
	app, err := connect.Dial(context.Background(), near, dialConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := app.InvokeTool(context.Background(), echoTool, map[string]int{"n": 1})
	fmt.Println(string(got), err)

	host.Disallow(appID.PeerID())
	host.Shutdown(context.Background())
	app.Wait()
	// Output:
	// {"n":1} <nil>
	// left: session closed: peer removed from the allowlist
}

func TestAnInvokeTimeoutBoundsTheWaitForASessionToo(t *testing.T) {
	redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		synctest.Wait()
		n.to(nil)
		synctest.Wait()
		ctx := connect.WithInvokeTimeout(t.Context(), time.Second)
		for _, invoke := range []func() (json.RawMessage, error){
			func() (json.RawMessage, error) { return r.InvokeTool(ctx, echoTool, nil) },
			func() (json.RawMessage, error) { return r.Invoke(ctx, "check", nil) },
		} {
			began := time.Now()
			_, err := invoke()
			assert.Equal(t, spoke.KindTimeout, spoke.KindOf(err))
			assert.ErrorContains(t, err, "no session with "+string(hostID.PeerID()))
			assert.Equal(t, time.Second, time.Since(began))
		}
		_, err := r.InvokeTool(t.Context(), "tools.test."+strings.Repeat("a", 246), nil)
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err), "at once")
	})
}

func TestASessionThatEndedIsNoneOfARedialers(t *testing.T) {
	redialed(t, nil, func(t *testing.T, _ *network, _ *connect.Server, r *redialing) {
		for range 20 {
			session, err := r.AwaitSession(t.Context())
			require.NoError(t, err)
			session.Close()
			require.Nil(t, r.Session(), "the next one is a delay away")
			require.Nil(t, r.CurrentSession())
		}
	})
}
