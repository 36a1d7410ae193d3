package connect_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// responding answers a hello with frames made for it.
func responding(t testing.TB, frames func(nonce string) [][]byte) func(connect.Transport) {
	return func(far connect.Transport) {
		defer far.Close()
		hello, err := far.Recv(context.Background())
		if err != nil {
			return
		}
		for _, frame := range frames(handmadeOf(t, hello).text(t, "nonce")) {
			far.Send(context.Background(), frame)
		}
	}
}

// refused runs f with a redialer and a server on whose allowlist it is not.
func refused(t *testing.T, most int, f func(t *testing.T, n *network, s *connect.Server, r *redialing)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = nil
		s := newServer(t, cfg)
		defer closeServer(t, s)
		n := &network{t: t, server: s}
		redialCfg := redialConfig(n)
		redialCfg.MaxRefusals = most
		f(t, n, s, redial(t, redialCfg))
	})
}

func TestRedialerStopsWhenALaterAttemptWouldBeInVain(t *testing.T) {
	for name, c := range map[string]struct {
		code   string
		answer func(nonce string) [][]byte
	}{
		"the peer speaks another version": {connect.CodeVersionMismatch, func(nonce string) [][]byte {
			return [][]byte{plainHello(hostID, hostNonce, nonce).with("protocol_version", "2").frame(t)}
		}},
		"another peer answers": {connect.CodeHandshakeFailed, func(nonce string) [][]byte {
			return [][]byte{plainHello(strangerID, hostNonce, nonce).signed(t, strangerID, connect.HelloEnvelope).frame(t)}
		}},
		"another peer answers under the peer's name": {connect.CodeHelloSignature, func(nonce string) [][]byte {
			return [][]byte{plainHello(hostID, hostNonce, nonce).signed(t, strangerID, connect.HelloEnvelope).frame(t)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := &network{t: t, answer: responding(t, c.answer)}
				r := redial(t, redialConfig(n))
				requireCode(t, <-r.done, c.code)
				assert.Equal(t, 1, n.attempts())
				assert.Equal(t, []string{"Handshaking", "Closed " + c.code}, r.told())
				_, err := r.InvokeTool(t.Context(), echoTool, nil)
				assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
				requireCode(t, err, c.code)
			})
		})
	}

	t.Run("the peer hangs up on one hello after the other", func(t *testing.T) {
		refused(t, 0, func(t *testing.T, n *network, _ *connect.Server, r *redialing) {
			err := <-r.done
			assert.ErrorIs(t, err, connect.ErrRefused)
			requireCode(t, err, connect.CodeTransport)
			assert.Equal(t, 5, n.attempts())
		})
	})
}

func TestRedialerGoesOn(t *testing.T) {
	bad := appHello(t).with("host", "[]").frame(t)
	for name, answer := range map[string]func(connect.Transport){
		"when the peer's frame is malformed":     responding(t, func(string) [][]byte { return [][]byte{[]byte("hello")} }),
		"when a recorded session is played back": responding(t, func(nonce string) [][]byte { return [][]byte{hostHello(t, nonce).frame(t), bad} }),
		"when the peer says nothing":             func(connect.Transport) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := &network{t: t, answer: answer}
				r := redial(t, redialConfig(n))
				<-time.After(time.Hour)
				assert.Greater(t, n.attempts(), 50)
				r.cancel()
				assert.NoError(t, <-r.done)
			})
		})
	}

	t.Run("when the peer hung up fewer times than allowed in a row", func(t *testing.T) {
		refused(t, 3, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
			until := func(attempts int) {
				for n.attempts() < attempts {
					require.Empty(t, r.done, "it has given up")
					<-time.After(time.Millisecond)
				}
			}
			for i := range 10 { // two refusals, then a failure of another kind
				until(3*i + 2)
				n.to(nil)
				until(3*i + 3)
				n.to(s)
			}
			assert.Empty(t, r.done)
			<-time.After(time.Hour)
			assert.ErrorIs(t, <-r.done, connect.ErrRefused)
		})
	})

	t.Run("for ever, if told so", func(t *testing.T) {
		refused(t, -1, func(t *testing.T, _ *network, s *connect.Server, r *redialing) {
			<-time.After(24 * time.Hour)
			require.NoError(t, s.Allow(appID.PeerID()))
			_, err := r.InvokeTool(t.Context(), echoTool, nil)
			require.NoError(t, err)
			r.cancel()
			assert.NoError(t, <-r.done)
		})
	})
}

func TestRedialConfigErrors(t *testing.T) {
	for name, change := range map[string]func(*connect.RedialConfig){
		"no Open":                          func(c *connect.RedialConfig) { c.Open = nil },
		"a negative delay":                 func(c *connect.RedialConfig) { c.MinDelay = -1 },
		"delays in the wrong order":        func(c *connect.RedialConfig) { c.MinDelay, c.MaxDelay = 2, 1 },
		"the peer is not on the allowlist": func(c *connect.RedialConfig) { c.Allow = nil },
		"no peer":                          func(c *connect.RedialConfig) { c.Remote = "" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := redialConfig(&network{t: t})
			change(&cfg)
			r, err := connect.NewRedialer(cfg)
			assert.ErrorContains(t, err, "config: ")
			assert.Nil(t, r)
		})
	}
}

func TestALongestDelayThatIsLeftOutIsNoLessThanTheShortest(t *testing.T) {
	_, err := connect.NewRedialer(connect.RedialConfig{
		DialConfig: dialConfig(), MinDelay: time.Minute,
		Open: func(context.Context) (connect.Transport, error) { return nil, context.Canceled },
	})
	require.NoError(t, err)
}
