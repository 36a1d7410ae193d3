package connect_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func serverConfig() connect.ServerConfig {
	return connect.ServerConfig{ResponderConfig: connect.ResponderConfig{Config: baseConfig(hostID, appID)}}
}

func newServer(t testing.TB, cfg connect.ServerConfig) *connect.Server {
	t.Helper()
	s, err := connect.NewServer(cfg)
	require.NoError(t, err)
	return s
}

// closeServer ends everything and waits for it.
func closeServer(t testing.TB, s *connect.Server) {
	t.Helper()
	s.Close()
	require.NoError(t, s.Shutdown(context.Background()))
}

// dialAs is the configuration of another app.
func dialAs(id *connect.Identity) connect.DialConfig {
	return connect.DialConfig{Config: baseConfig(id, hostID), Remote: hostID.PeerID()}
}

// joining is a dial of a server under way.
type joining struct {
	host    *connect.Responder
	hostErr error
	app     *connect.RemoteAdapter
	err     error
}

// join dials a server over a pipe and returns what became of it on both sides.
func join(t testing.TB, s *connect.Server, cfg connect.DialConfig) *joining {
	t.Helper()
	j := new(joining)
	near, far := connect.Pipe()
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		j.host, j.hostErr = s.Accept(t.Context(), far)
	}()
	j.app, j.err = connect.Dial(t.Context(), near, cfg)
	<-accepted
	return j
}

// joined is join for a dial that has to succeed.
func joined(t testing.TB, s *connect.Server, cfg connect.DialConfig) link {
	t.Helper()
	j := join(t, s, cfg)
	require.NoError(t, j.err)
	require.NoError(t, j.hostErr)
	return link{j.app, j.host}
}

// serving runs f in a bubble with a server that is closed afterwards.
func serving(t *testing.T, cfg connect.ServerConfig, f func(t *testing.T, s *connect.Server)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		s := newServer(t, cfg)
		defer closeServer(t, s)
		f(t, s)
	})
}

// keysOf gives a peer the key of an identity.
func keysOf(peer connect.PeerID, id *connect.Identity) map[connect.PeerID]ed25519.PublicKey {
	return map[connect.PeerID]ed25519.PublicKey{peer: id.PublicKey()}
}

func idsOf(sessions []*connect.Responder) []string {
	var ids []string
	for _, r := range sessions {
		ids = append(ids, r.ID())
	}
	return ids
}

func TestServerListsItsLiveSessions(t *testing.T) {
	cfg := serverConfig()
	cfg.Allow = append(cfg.Allow, strangerID.PeerID())
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		assert.Equal(t, hostID.PeerID(), s.PeerID())
		a, b, other := joined(t, s, dialConfig()), joined(t, s, dialConfig()), joined(t, s, dialAs(strangerID))
		assert.Equal(t, []string{a.host.ID(), b.host.ID()}, idsOf(s.SessionsOf(appID.PeerID())), "the oldest first")
		assert.Equal(t, []string{other.host.ID()}, idsOf(s.SessionsOf(strangerID.PeerID())))
		assert.ElementsMatch(t, []string{a.host.ID(), b.host.ID(), other.host.ID()}, idsOf(slices.Collect(s.Sessions())))
		for range s.Sessions() {
			break // an iteration may be left
		}
		found, ok := s.Session(b.host.ID())
		require.True(t, ok)
		assert.Same(t, b.host, found)

		_, err := b.host.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		a.app.Close()
		<-a.host.Done()
		_, ok = s.Session(a.host.ID())
		assert.False(t, ok, "a session whose Done is closed is out of every list")
		assert.Equal(t, []string{b.host.ID()}, idsOf(s.SessionsOf(appID.PeerID())))
		assert.Len(t, slices.Collect(s.Sessions()), 2)
		assert.Empty(t, s.SessionsOf("nobody"))
	})
}

func TestTheServersNonceStoreServesAllItsSessions(t *testing.T) {
	serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
		hello := appHello(t).frame(t)
		for i := range 2 {
			near, far := connect.Pipe()
			require.NoError(t, near.Send(t.Context(), hello))
			_, err := s.Accept(t.Context(), far)
			if i == 0 {
				require.NoError(t, err)
			} else {
				requireCode(t, err, connect.CodeNonceReplayed)
			}
		}
	})
}

func TestTheAllowlistChangesWhileTheServerRuns(t *testing.T) {
	t.Run("an added peer may come", func(t *testing.T) {
		serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
			requireCode(t, join(t, s, dialAs(strangerID)).hostErr, connect.CodePeerNotAllowed)
			require.NoError(t, s.Allow(strangerID.PeerID()))
			joined(t, s, dialAs(strangerID))
			assert.Equal(t, []connect.PeerID{appID.PeerID(), strangerID.PeerID()}, s.Allowed())
		})
	})

	t.Run("a peer may be added with its key, and not with another's", func(t *testing.T) {
		serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
			require.Error(t, s.AllowKey(strangerID.PeerID(), appID.PublicKey()))
			requireCode(t, join(t, s, dialAs(strangerID)).hostErr, connect.CodePeerNotAllowed)
			require.NoError(t, s.AllowKey(strangerID.PeerID(), strangerID.PublicKey()))
			joined(t, s, dialAs(strangerID))
		})
	})

	t.Run("the sessions of a removed peer end and no others", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			gone, also, stays := joined(t, s, dialAs(strangerID)), joined(t, s, dialAs(strangerID)), joined(t, s, dialConfig())
			s.Disallow(strangerID.PeerID())
			for _, l := range []link{gone, also} {
				assert.ErrorIs(t, l.host.Wait(), connect.ErrPeerRemoved)
				assert.ErrorIs(t, l.app.Wait(), connect.ErrSessionClosed)
			}
			assert.Equal(t, connect.Established, stays.host.State())
			requireCode(t, join(t, s, dialAs(strangerID)).hostErr, connect.CodePeerNotAllowed)
		})
	})

	t.Run("the list may be replaced as a whole", func(t *testing.T) {
		serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
			old := joined(t, s, dialConfig())
			require.Error(t, s.SetAllow([]connect.PeerID{"no peer id"}, nil))
			require.Error(t, s.SetAllow(nil, keysOf(appID.PeerID(), hostID)))
			assert.Equal(t, connect.Established, old.host.State(), "an error changes nothing")
			require.NoError(t, s.SetAllow([]connect.PeerID{strangerID.PeerID()}, nil))
			assert.ErrorIs(t, old.host.Wait(), connect.ErrPeerRemoved)
			joined(t, s, dialAs(strangerID))
			require.NoError(t, s.SetAllow(nil, nil))
			assert.Empty(t, s.Allowed())
			requireCode(t, join(t, s, dialAs(strangerID)).hostErr, connect.CodePeerNotAllowed)
		})
	})

	t.Run("a text that is no peer id is refused", func(t *testing.T) {
		serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
			require.Error(t, s.Allow(strangerID.PeerID(), "no peer id"))
			assert.Equal(t, []connect.PeerID{appID.PeerID()}, s.Allowed())
		})
	})

	t.Run("a peer that is removed amid its handshake gets no session", func(t *testing.T) {
		cfg := serverConfig()
		var s *connect.Server
		cfg.Peer = func(peer connect.PeerID) connect.PeerOptions { // verified, not answered yet
			s.Disallow(peer)
			return connect.PeerOptions{}
		}
		bubble(t, func(t *testing.T) {
			s = newServer(t, cfg)
			defer closeServer(t, s)
			j := join(t, s, dialConfig())
			assert.ErrorIs(t, requireCode(t, j.hostErr, connect.CodePeerNotAllowed), connect.ErrPeerRemoved)
			assert.Empty(t, slices.Collect(s.Sessions()))
			if j.err == nil {
				assert.ErrorIs(t, j.app.Wait(), connect.ErrSessionClosed)
			}
		})
	})
}

func TestEachPeerMayBeServedItsOwn(t *testing.T) {
	cfg := serverConfig()
	cfg.Allow = append(cfg.Allow, strangerID.PeerID())
	say := func(text string) func(context.Context, json.RawMessage) (any, error) {
		return func(context.Context, json.RawMessage) (any, error) { return text, nil }
	}
	cfg.Tools = spoke.ToolHandlers{echoTool: say("for all")}
	cfg.Ops = []connect.Op{{Name: "test.op", Capability: "test.ops", Handle: say("op for all")}}
	cfg.Peer = func(peer connect.PeerID) connect.PeerOptions {
		if peer != strangerID.PeerID() {
			return connect.PeerOptions{}
		}
		return connect.PeerOptions{
			Tools: spoke.ToolHandlers{echoTool: say("for one")},
			Ops:   []connect.Op{{Name: "test.own", Capability: "test.ops", Handle: say("op for one")}},
		}
	}
	answer := func(t *testing.T, s *connect.Session, op string) string {
		value, err := s.Invoke(t.Context(), op, object{"arguments": object{}})
		if err != nil {
			return string(spoke.CodeOf(err))
		}
		return string(value)
	}
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		all, one := joined(t, s, dialConfig()).app.Session, joined(t, s, dialAs(strangerID)).app.Session
		assert.Equal(t, `{"result":"for all"}`, answer(t, all, echoTool))
		assert.Equal(t, `{"result":"for one"}`, answer(t, one, echoTool))
		assert.Equal(t, `"op for all"`, answer(t, all, "test.op"))
		assert.Equal(t, "CAPABILITY_PORT_MISSING", answer(t, one, "test.op"))
		assert.Equal(t, "CAPABILITY_PORT_MISSING", answer(t, all, "test.own"))
		assert.Equal(t, `"op for one"`, answer(t, one, "test.own"))
	})
}

func TestWrongOptionsForAPeerRefuseIt(t *testing.T) {
	cfg := serverConfig()
	cfg.Peer = func(connect.PeerID) connect.PeerOptions {
		return connect.PeerOptions{Ops: []connect.Op{{Name: "tools.not.allowed"}}}
	}
	cfg.ServerLimits.Sessions = 1
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		for range 2 { // the place is given back
			j := join(t, s, dialConfig())
			requireCode(t, j.hostErr, connect.CodeInvalidConfig)
			require.Error(t, j.err, "the peer is not answered")
		}
	})
}

func TestCallbacksTellBeginningAndEnd(t *testing.T) {
	var mu sync.Mutex
	var told []string
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf(format, args...))
	}
	var s *connect.Server
	cfg := serverConfig()
	cfg.OnOpen = func(r *connect.Responder) {
		_, listed := s.Session(r.ID())
		_, err := r.InvokeTool(context.Background(), echoTool, nil)
		tell("open: listed %v, invoke %v", listed, err)
		r.Close() // OnClose waits for our return
		r.Wait()
		tell("still in OnOpen")
	}
	cfg.OnClose = func(r *connect.Responder, cause error) {
		_, listed := s.Session(r.ID())
		tell("close: listed %v, state %v, cause %v", listed, r.State(), cause)
	}
	bubble(t, func(t *testing.T) {
		s = newServer(t, cfg)
		joined(t, s, dialConfig())
		closeServer(t, s) // waits for OnClose
		assert.Equal(t, []string{
			"open: listed true, invoke <nil>", "still in OnOpen", "close: listed false, state Closed, cause <nil>",
		}, told)
	})
}

func TestOnCloseIsToldWhyAndComesAfterTheHandlers(t *testing.T) {
	var handlerLeft bool
	var cause error
	cfg := serverConfig()
	cfg.Tools = spoke.ToolHandlers{slowTool: func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		<-time.After(time.Second) // of the bubble: it takes its time to leave
		handlerLeft = true
		return nil, nil
	}}
	cfg.OnClose = func(_ *connect.Responder, why error) {
		assert.True(t, handlerLeft)
		cause = why
	}
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		call := start(t.Context(), joined(t, s, dialConfig()).app.Session, slowTool)
		synctest.Wait()
		s.Disallow(appID.PeerID())
		_, err := call.wait()
		require.Error(t, err)
	})
	assert.ErrorIs(t, cause, connect.ErrPeerRemoved)
}

func TestServeEndsWithItsContext(t *testing.T) {
	serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
		ctx, cancel := context.WithCancelCause(t.Context())
		near, far := connect.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, far) }()
		app, err := connect.Dial(t.Context(), near, dialConfig())
		require.NoError(t, err)
		_, err = app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		enough := errors.New("enough")
		cancel(enough)
		assert.ErrorIs(t, <-served, enough)
		assert.ErrorIs(t, app.Wait(), connect.ErrSessionClosed)

		strangerNear, strangerFar := connect.Pipe()
		strangerNear.Close()
		requireCode(t, s.Serve(t.Context(), strangerFar), connect.CodeTransport)
	})
}

func TestServerConfigErrors(t *testing.T) {
	for name, change := range map[string]func(*connect.ServerConfig){
		"no identity":                func(c *connect.ServerConfig) { c.Identity = nil },
		"a key of another peer":      func(c *connect.ServerConfig) { c.PeerKeys = keysOf(appID.PeerID(), hostID) },
		"an unknown policy":          func(c *connect.ServerConfig) { c.Second = 3 },
		"a negative policy":          func(c *connect.ServerConfig) { c.Second = -1 },
		"a negative limit":           func(c *connect.ServerConfig) { c.ServerLimits.Sessions = -1 },
		"a negative limit of a peer": func(c *connect.ServerConfig) { c.ServerLimits.SessionsPerPeer = -1 },
		"a negative handshake limit": func(c *connect.ServerConfig) { c.ServerLimits.Handshakes = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := serverConfig()
			change(&cfg)
			s, err := connect.NewServer(cfg)
			assert.ErrorContains(t, err, "config: ")
			assert.Nil(t, s)
		})
	}
}

// joinInPanic is a dial of a server whose callback panics, as net/http lets it.
func joinInPanic(t *testing.T, s *connect.Server) (*connect.RemoteAdapter, error) {
	t.Helper()
	near, far := connect.Pipe()
	over := make(chan any)
	go func() {
		defer func() { over <- recover() }()
		_, _ = s.Accept(t.Context(), far)
	}()
	app, err := connect.Dial(t.Context(), near, dialConfig())
	require.Equal(t, "boom", <-over)
	return app, err
}

func TestCallbacksThatPanicLeaveNothingBehind(t *testing.T) {
	t.Run("Peer", func(t *testing.T) {
		cfg := serverConfig()
		cfg.ServerLimits.SessionsPerPeer = 1
		broken := true
		cfg.Peer = func(connect.PeerID) (options connect.PeerOptions) {
			if broken {
				panic("boom")
			}
			return options
		}
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			_, err := joinInPanic(t, s)
			require.Error(t, err, "the transport is closed")
			broken = false
			joined(t, s, dialConfig()) // the place is free
		})
	})
	t.Run("OnOpen", func(t *testing.T) {
		cfg := serverConfig()
		cfg.OnOpen = func(*connect.Responder) { panic("boom") }
		var closed bool
		cfg.OnClose = func(*connect.Responder, error) { closed = true }
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			app, err := joinInPanic(t, s)
			require.NoError(t, err)
			app.Close()
			require.NoError(t, s.Shutdown(t.Context()))
			assert.True(t, closed)
		})
	})
}

func TestServersOfOneIdentityShareTheNoncesThatTheyAccepted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		id, hello := identityOf(0x51), appHello(t).frame(t)
		for _, replayed := range []bool{false, true} {
			cfg := serverConfig()
			cfg.Identity, cfg.Nonces = id, nil
			s := newServer(t, cfg)
			near, far := connect.Pipe()
			require.NoError(t, near.Send(t.Context(), hello))
			_, err := s.Accept(t.Context(), far)
			if replayed {
				requireCode(t, err, connect.CodeNonceReplayed)
			} else {
				require.NoError(t, err)
			}
			closeServer(t, s)
		}
	})
}

func TestASessionThatEndedIsNotKeptUntilItsReminder(t *testing.T) {
	serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
		one, other := joined(t, s, dialConfig()), joined(t, s, dialConfig())
		one.app.Close()
		_ = one.host.Wait()
		assert.False(t, connect.StopReminder(one.host.Session))
		assert.True(t, connect.StopReminder(other.host.Session), "a live one has its reminder")
	})
}

func TestAServerKeepsItsOwnCopyOfAKey(t *testing.T) {
	cfg := serverConfig()
	cfg.PeerKeys = keysOf(appID.PeerID(), appID)
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		clear(cfg.PeerKeys[appID.PeerID()])
		joined(t, s, dialConfig())
		keys := keysOf(appID.PeerID(), appID)
		require.NoError(t, s.SetAllow([]connect.PeerID{appID.PeerID()}, keys))
		clear(keys[appID.PeerID()])
		joined(t, s, dialConfig())
	})
}
