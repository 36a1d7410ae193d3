package connect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

// recordedHello is a hello that was sent to a host in the past.
func recordedHello(t testing.TB) []byte {
	t.Helper()
	s := newServer(t, serverConfig())
	seen := tap(t, s, dialConfig())
	seen.app.Close()
	seen.app.Wait()
	closeServer(t, s)
	return seen.seen.hello
}

// replayed plays a hello to a server that may accept it.
func replayed(t testing.TB, s *connect.Server, hello []byte) (*connect.Responder, connect.Transport, error) {
	t.Helper()
	near, far := connect.Pipe()
	require.NoError(t, near.Send(t.Context(), hello))
	r, err := s.Accept(t.Context(), far)
	return r, near, err
}

// requireUseless asserts that a session that a replayed hello opened does nothing for
// whoever replays it.
func requireUseless(t testing.TB, s *connect.Server, hello []byte) {
	t.Helper()
	const private = "only for the app"
	r, near, err := replayed(t, s, hello)
	require.NoError(t, err, "nothing tells it from a fresh hello")
	call := start(t.Context(), r.Session, echoTool)
	secret := make(chan error, 1)
	go func() { _, err := r.InvokeTool(t.Context(), echoTool, object{"x": private}); secret <- err }()
	_, err = call.wait()
	require.Error(t, err)
	require.Error(t, <-secret)
	r.Close()
	for {
		frame, err := near.Recv(t.Context())
		if err != nil {
			return
		}
		assert.NotContains(t, string(frame), private)
	}
}

func TestAttackHelloReplay(t *testing.T) {
	t.Run("at the same process is refused", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, _ *runs) {
			seen := tap(t, s, dialConfig())
			_, near, err := replayed(t, s, seen.seen.hello)
			requireCode(t, err, connect.CodeNonceReplayed)
			requireClosed(t, near)
		})
	})

	t.Run("at another instance with the same nonce store is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := serverConfig()
			cfg.Nonces = connect.NewNonceStore(0)
			a, b := newServer(t, cfg), newServer(t, cfg)
			defer closeServer(t, a)
			defer closeServer(t, b)
			_, _, err := replayed(t, b, tap(t, a, dialConfig()).seen.hello)
			requireCode(t, err, connect.CodeNonceReplayed)
		})
	})

	t.Run("after a restart gets nothing out of us", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			requireUseless(t, s, recordedHello(t))
			assert.Zero(t, served.n.Load())
		})
	})

	t.Run("at another host gets nothing out of it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := serverConfig()
			cfg.Identity = strangerID // allows the same app
			s := newServer(t, cfg)
			defer closeServer(t, s)
			requireUseless(t, s, recordedHello(t))
		})
	})

	t.Run("does not push out the session of the peer", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Second = connect.ReplaceFirst
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			hello := recordedHello(t)
			honest := joined(t, s, dialConfig())
			r, _, err := replayed(t, s, hello)
			require.NoError(t, err)
			assert.ErrorIs(t, r.Wait(), connect.ErrNotProven)
			assert.Equal(t, connect.Established, honest.host.State())
		})
	})

	t.Run("does not keep the peer out", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Second = connect.RefuseSecond
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			r, _, err := replayed(t, s, recordedHello(t))
			require.NoError(t, err)
			assert.ErrorIs(t, r.Wait(), connect.ErrNotProven)
			joined(t, s, dialConfig())
		})
	})
}

func TestAttackRecordedHellosTakeThePlacesOfAPeerForAMomentOnly(t *testing.T) {
	cfg := serverConfig()
	cfg.ServerLimits.SessionsPerPeer, cfg.HandshakeTimeout = 3, time.Second
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		honest := joined(t, s, dialConfig()) // says nothing, but answers
		var ghosts []*connect.Responder
		for range 2 {
			ghost, _, err := replayed(t, s, recordedHello(t))
			require.NoError(t, err)
			ghosts = append(ghosts, ghost)
		}
		requireCode(t, join(t, s, dialConfig()).hostErr, connect.CodeServerBusy)
		for _, ghost := range ghosts {
			assert.ErrorIs(t, ghost.Wait(), connect.ErrNotProven)
			assert.Equal(t, 2*time.Second, time.Since(ghost.OpenedAt()))
		}
		joined(t, s, dialConfig())
		assert.Equal(t, connect.Established, honest.host.State())
	})
}

func TestAttackResponderHelloReplay(t *testing.T) {
	attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
		seen := tap(t, s, victim(served)).seen
		d := startDial(t, t.Context(), victim(served))
		d.answer(t, seen.answer, seen.session)
		<-d.done
		requireCode(t, d.err, connect.CodeHandshakeFailed)
		assert.ErrorContains(t, d.err, "nonce")
		requireClosed(t, d.far)
	})
}

// requests returns the request of either side in a tapped session, recorded and
// delivered, and the sides it goes from and to.
func (s *tapped) requests(served *runs) []recordedRequest {
	s.t.Helper()
	var all []recordedRequest
	for _, c := range []struct {
		name     string
		caller   *connect.Session
		from, to connect.Transport
	}{
		{"the app's request", s.app.Session, s.toApp, s.toHost},
		{"the host's request", s.host.Session, s.toHost, s.toApp},
	} {
		before := served.n.Load()
		call := start(s.t.Context(), c.caller, echoTool)
		frame := s.pass(c.from, c.to)
		answer := s.pass(c.to, c.from)
		_, err := call.wait()
		require.NoError(s.t, err)
		require.Equal(s.t, before+1, served.n.Load())
		all = append(all, recordedRequest{c.name, frame, answer, c.from, c.to})
	}
	return all
}

type recordedRequest struct {
	name          string
	frame, answer []byte
	from, to      connect.Transport // the middle's ends
}

func TestAttackRequestReplay(t *testing.T) {
	t.Run("within a session reaches no handler", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			seen := tap(t, s, victim(served))
			for _, request := range seen.requests(served) {
				before := served.n.Load()
				seen.put(request.to, request.frame)
				assert.Equal(t, "invalid_sequence", seen.answered(request.to), request.name)
				assert.Equal(t, before, served.n.Load(), request.name)
			}
		})
	})

	t.Run("in the next session of the same peers reaches no handler", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			old := tap(t, s, victim(served)).requests(served)
			next := tap(t, s, victim(served))
			assert.NotEqual(t, handmadeOf(t, old[0].frame).text(t, "session_id"), next.host.ID())
			before := served.n.Load()
			for i, to := range []connect.Transport{next.toHost, next.toApp} {
				next.put(to, old[i].frame) // at the sequence that is expected: 0
				assert.Equal(t, "auth_failed/envelope_auth_session_unbound", next.answered(to), old[i].name)
			}
			assert.Equal(t, before, served.n.Load())
		})
	})
}
