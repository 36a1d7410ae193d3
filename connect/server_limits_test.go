package connect_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestASecondSessionOfAPeer(t *testing.T) {
	t.Run("is allowed by default", func(t *testing.T) {
		serving(t, serverConfig(), func(t *testing.T, s *connect.Server) {
			first, second := joined(t, s, dialConfig()), joined(t, s, dialConfig())
			synctest.Wait()
			assert.Equal(t, []string{first.host.ID(), second.host.ID()}, idsOf(s.SessionsOf(appID.PeerID())))
		})
	})

	for name, skip := range map[string]bool{"": false, " also without proof of possession": true} {
		t.Run("replaces the first by choice"+name, func(t *testing.T) {
			cfg := serverConfig()
			cfg.Second, cfg.SkipProofOfPossession = connect.ReplaceFirst, skip
			cfg.ServerLimits.SessionsPerPeer = 1 // is raised to two
			serving(t, cfg, func(t *testing.T, s *connect.Server) {
				for range 3 {
					first := joined(t, s, dialConfig())
					synctest.Wait() // it has replaced what was there
					second := joined(t, s, dialConfig())
					assert.ErrorIs(t, first.host.Wait(), connect.ErrReplaced)
					synctest.Wait()
					assert.Equal(t, []string{second.host.ID()}, idsOf(s.SessionsOf(appID.PeerID())))
				}
			})
		})
	}

	t.Run("is refused by choice, until the first has ended", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Second = connect.RefuseSecond
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			first := joined(t, s, dialConfig())
			requireCode(t, join(t, s, dialConfig()).hostErr, connect.CodeSecondSession)
			assert.Equal(t, connect.Established, first.host.State())
			first.app.Close()
			<-first.host.Done()
			joined(t, s, dialConfig())
		})
	})

	t.Run("of another peer is no second session", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		cfg.Second = connect.RefuseSecond
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			joined(t, s, dialConfig())
			joined(t, s, dialAs(strangerID))
		})
	})
}

func TestServerLimits(t *testing.T) {
	t.Run("sessions in all", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		cfg.ServerLimits.Sessions = 2
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			first := joined(t, s, dialConfig())
			require.NoError(t, s.Ready())
			joined(t, s, dialAs(strangerID))
			assert.ErrorIs(t, s.Ready(), connect.ErrServerBusy)
			refused := requireCode(t, join(t, s, dialAs(strangerID)).hostErr, connect.CodeServerBusy)
			assert.ErrorIs(t, refused, connect.ErrServerBusy)
			first.app.Close()
			<-first.host.Done()
			require.NoError(t, s.Ready())
			joined(t, s, dialAs(strangerID))
		})
	})

	t.Run("sessions of one peer", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		cfg.ServerLimits.SessionsPerPeer = 2
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			first := joined(t, s, dialConfig())
			joined(t, s, dialConfig())
			requireCode(t, join(t, s, dialConfig()).hostErr, connect.CodeServerBusy)
			joined(t, s, dialAs(strangerID))
			first.app.Close()
			<-first.host.Done()
			joined(t, s, dialConfig())
		})
	})

	t.Run("handshakes at once, before a frame is read", func(t *testing.T) {
		cfg := serverConfig()
		cfg.ServerLimits.Handshakes = 2
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			failed := make(chan error, 2)
			for range 2 {
				_, far := connect.Pipe() // says nothing
				go func() {
					_, err := s.Accept(t.Context(), far)
					failed <- err
				}()
			}
			synctest.Wait()
			assert.ErrorIs(t, s.Ready(), connect.ErrServerBusy)
			near, far := connect.Pipe()
			_, err := s.Accept(t.Context(), far)
			requireCode(t, err, connect.CodeServerBusy)
			requireClosed(t, near)
			for range 2 {
				requireCode(t, <-failed, connect.CodeTimeout)
			}
			require.NoError(t, s.Ready())
			joined(t, s, dialConfig())
		})
	})

	t.Run("a handshake that failed takes no place", func(t *testing.T) {
		cfg := serverConfig()
		cfg.ServerLimits.Sessions = 1
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			for range 3 {
				near, far := connect.Pipe()
				broken := &brokenTransport{Transport: far} // verified, and cannot be answered
				require.NoError(t, near.Send(t.Context(), plainHello(appID, uuid.NewString(), "").signed(t, appID, connect.HelloEnvelope).frame(t)))
				_, err := s.Accept(t.Context(), broken)
				requireCode(t, err, connect.CodeTransport)
			}
			joined(t, s, dialConfig())
		})
	})
}

func TestAPeerThatMisbehavedIsKeptOutForAWhile(t *testing.T) {
	cfg := serverConfig()
	cfg.Allow = append(cfg.Allow, strangerID.PeerID())
	// misbehave holds a session in which the app signs something and ends it.
	misbehave := func(t *testing.T, s *connect.Server, sign bool, last string) {
		near, far := connect.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(t.Context(), far) }()
		p := &wirePeer{t: t, id: appID, transport: near}
		p.dial(dialConfig())
		if sign {
			p.requireWorks()
		}
		if last != "" {
			p.send(raw("%s", last))
		} else {
			near.Close()
		}
		require.Error(t, <-ended)
	}
	comesIn := func(t *testing.T, s *connect.Server) bool {
		j := join(t, s, dialConfig())
		if j.hostErr != nil {
			requireCode(t, j.hostErr, connect.CodePenalty)
			return false
		}
		link{j.app, j.host}.close()
		return true
	}

	t.Run("twice as long each time, and no other peer with it", func(t *testing.T) {
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
				misbehave(t, s, true, "no JSON")
				joined(t, s, dialAs(strangerID))
				<-time.After(seconds*time.Second - time.Millisecond)
				assert.False(t, comesIn(t, s), "before %d s", seconds)
				<-time.After(2 * time.Millisecond)
				assert.True(t, comesIn(t, s), "after %d s", seconds)
			}
			<-time.After(61 * time.Second)
			misbehave(t, s, true, "no JSON")
			<-time.After(1001 * time.Millisecond)
			assert.True(t, comesIn(t, s), "it behaved for a minute")
		})
	})

	t.Run("but not for leaving", func(t *testing.T) {
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			misbehave(t, s, true, "")
			assert.True(t, comesIn(t, s))
		})
	})

	t.Run("but not for what somebody else may have done in its name", func(t *testing.T) {
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			misbehave(t, s, false, "no JSON")
			assert.True(t, comesIn(t, s))
		})
		skip := cfg
		skip.SkipProofOfPossession = true
		serving(t, skip, func(t *testing.T, s *connect.Server) {
			misbehave(t, s, false, "no JSON")
			assert.True(t, comesIn(t, s))
		})
	})

	t.Run("but not where there are no penalties", func(t *testing.T) {
		none := cfg
		none.ServerLimits.Penalty = -1
		serving(t, none, func(t *testing.T, s *connect.Server) {
			misbehave(t, s, true, "no JSON")
			assert.True(t, comesIn(t, s))
		})
	})
}
