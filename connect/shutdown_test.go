package connect_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// stopping is a server that shuts down.
type stopping struct{ done chan error }

func shutDown(ctx context.Context, s *connect.Server) *stopping {
	stop := &stopping{done: make(chan error, 1)}
	go func() { stop.done <- s.Shutdown(ctx) }()
	return stop
}

func (s *stopping) requireRunning(t testing.TB) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-s.done:
		require.Fail(t, "the server is down", "%v", err)
	default:
	}
}

// held returns a handler that answers when release is closed.
func held(release <-chan struct{}) spoke.ToolHandler {
	return func(ctx context.Context, args json.RawMessage) (any, error) {
		select {
		case <-release:
			return args, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestShutdown(t *testing.T) {
	t.Run("closes idle sessions at once and tells why", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := newServer(t, serverConfig())
			a, b := joined(t, s, dialConfig()), joined(t, s, dialConfig())
			_, err := a.host.InvokeTool(t.Context(), echoTool, nil)
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, s.Shutdown(t.Context()))
			assert.Zero(t, time.Since(began))
			for _, l := range []link{a, b} {
				assert.ErrorIs(t, l.host.Wait(), connect.ErrServerClosed)
				assert.ErrorIs(t, l.app.Wait(), connect.ErrSessionClosed)
			}
			require.NoError(t, s.Shutdown(t.Context()), "again")
		})
	})

	t.Run("accepts nothing any more", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := newServer(t, serverConfig())
			require.NoError(t, s.Shutdown(t.Context()))
			assert.ErrorIs(t, s.Ready(), connect.ErrServerClosed)
			assert.ErrorIs(t, requireCode(t, join(t, s, dialConfig()).hostErr, connect.CodeServerClosed), connect.ErrServerClosed)
		})
	})

	t.Run("ends the handshakes that are under way", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			metrics, cfg := new(counted), serverConfig()
			cfg.Metrics = metrics
			s := newServer(t, cfg)
			near, far := connect.Pipe()
			failed := make(chan error, 1)
			go func() {
				_, err := s.Accept(t.Context(), far)
				failed <- err
			}()
			synctest.Wait()
			require.NoError(t, s.Shutdown(t.Context()))
			requireCode(t, <-failed, connect.CodeServerClosed)
			assert.Equal(t, []string{"refused server_closed"}, metrics.take())
			requireClosed(t, near)
		})
	})

	t.Run("waits for a handler that runs, and its answer arrives", func(t *testing.T) {
		release := make(chan struct{})
		cfg := serverConfig()
		bubble(t, func(t *testing.T) {
			release = make(chan struct{})
			cfg.Tools = spoke.ToolHandlers{otherTool: held(release), echoTool: echo}
			s := newServer(t, cfg)
			l := joined(t, s, dialConfig())
			call := start(connect.WithInvokeTimeout(t.Context(), -1), l.app.Session, otherTool)
			synctest.Wait()
			stop := shutDown(t.Context(), s)
			stop.requireRunning(t)

			_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "overloaded"})
			stop.requireRunning(t)

			close(release)
			_, err = call.wait()
			require.NoError(t, err)
			require.NoError(t, <-stop.done)
			assert.ErrorIs(t, l.host.Wait(), connect.ErrServerClosed)
			l.app.Wait()
		})
	})

	t.Run("waits for an invoke of its own, also from a handler that runs", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			release := make(chan struct{})
			cfg := serverConfig()
			cfg.Tools = spoke.ToolHandlers{otherTool: func(ctx context.Context, args json.RawMessage) (any, error) {
				<-release
				caller, _ := connect.SessionFromContext(ctx)
				return caller.InvokeTool(ctx, echoTool, args)
			}}
			dial := dialConfig()
			dial.Tools = spoke.ToolHandlers{slowTool: held(release), echoTool: echo}
			s := newServer(t, cfg)
			l := joined(t, s, dial)
			ours := start(t.Context(), l.host.Session, slowTool)
			nested := start(t.Context(), l.app.Session, otherTool)
			synctest.Wait()
			stop := shutDown(t.Context(), s)
			stop.requireRunning(t)
			close(release)
			for _, call := range []*invocation{ours, nested} {
				_, err := call.wait()
				require.NoError(t, err)
			}
			require.NoError(t, <-stop.done)
			l.app.Wait()
		})
	})

	t.Run("waits for refusals that are not written yet", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			s := newServer(t, serverConfig())
			near, far := connect.Pipe()
			accepted := make(chan *connect.Responder, 1)
			go func() {
				r, err := s.Accept(t.Context(), far)
				assert.NoError(t, err)
				accepted <- r
			}()
			p := &wirePeer{t: t, id: appID, transport: near}
			p.dial(dialConfig())
			<-accepted
			const asked = 40 // more than the pipe holds
			for range asked {
				p.send(p.sign(connect.RequestEnvelope, p.toolRequest("tools.test.unknown")))
				p.sequence++
			}
			synctest.Wait()
			stop := shutDown(t.Context(), s)
			stop.requireRunning(t)
			for range asked {
				assert.Equal(t, "op_unsupported", errorOf(p.recv()))
			}
			require.NoError(t, <-stop.done)
		})
	})

	t.Run("closes what is left when its context ends", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := serverConfig()
			cfg.Tools = spoke.ToolHandlers{otherTool: held(nil)}
			s := newServer(t, cfg)
			l := joined(t, s, dialConfig())
			call := start(connect.WithInvokeTimeout(t.Context(), -1), l.app.Session, otherTool)
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			assert.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(began))
			_, err := call.wait()
			assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
			require.NoError(t, s.Shutdown(t.Context()), "waits for the rest")
			l.app.Wait()
		})
	})
}

func TestCloseEndsEverySessionAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := serverConfig()
		cfg.Tools = spoke.ToolHandlers{otherTool: held(nil)}
		s := newServer(t, cfg)
		busy, idle := joined(t, s, dialConfig()), joined(t, s, dialConfig())
		call := start(t.Context(), busy.app.Session, otherTool)
		synctest.Wait()
		require.NoError(t, s.Close())
		assert.Empty(t, slices.Collect(s.Sessions()))
		_, err := call.wait()
		assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
		for _, l := range []link{busy, idle} {
			assert.ErrorIs(t, l.host.Wait(), connect.ErrServerClosed)
			l.app.Wait()
		}
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

func TestASessionThatShutsDown(t *testing.T) {
	// busy runs f with a session whose dialer serves a request until release is closed.
	busy := func(t *testing.T, f func(t *testing.T, l link, call *invocation, release chan struct{})) {
		bubble(t, func(t *testing.T) {
			release := make(chan struct{})
			dial := dialConfig()
			dial.Tools = spoke.ToolHandlers{slowTool: held(release), echoTool: echo}
			s := newServer(t, serverConfig())
			defer closeServer(t, s)
			l := joined(t, s, dial)
			call := start(connect.WithInvokeTimeout(t.Context(), -1), l.host.Session, slowTool)
			synctest.Wait()
			f(t, l, call, release)
		})
	}

	t.Run("lets what runs finish, serves nothing else, and says goodbye", func(t *testing.T) {
		busy(t, func(t *testing.T, l link, call *invocation, release chan struct{}) {
			down := make(chan error, 1)
			go func() { down <- l.app.Shutdown(t.Context()) }()
			synctest.Wait()
			_, err := l.host.InvokeTool(t.Context(), echoTool, nil)
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "overloaded"})
			assert.Empty(t, down)
			close(release)
			_, err = call.wait()
			require.NoError(t, err)
			require.NoError(t, <-down)
			assert.NoError(t, l.app.Wait(), "this side wanted it")
			assert.ErrorIs(t, l.host.Wait(), io.EOF)
			assert.NoError(t, l.app.Shutdown(t.Context()), "again")
		})
	})

	t.Run("closes when its context ends", func(t *testing.T) {
		busy(t, func(t *testing.T, l link, call *invocation, _ chan struct{}) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			assert.ErrorIs(t, l.app.Shutdown(ctx), context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(began))
			_, err := call.wait()
			assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
			assert.NoError(t, l.app.Wait())
		})
	})
}
