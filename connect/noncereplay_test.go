package connect_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestNoncesAreAcceptedOnce(t *testing.T) {
	t.Run("a hello that was accepted is refused when it is played again", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			failure := requireRefused(t, cfg, appHello(t).frame(t), connect.CodeNonceReplayed)
			assert.Equal(t, connect.HandshakeFailed, failure.Kind)
			assert.Equal(t, appID.PeerID(), failure.Peer)
		})
	})

	t.Run("of many racing replays one is accepted", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			hello := appHello(t).frame(t)
			var accepted, replayed atomic.Int32
			var all sync.WaitGroup
			for range 16 {
				near, far := connect.Pipe()
				require.NoError(t, far.Send(t.Context(), hello))
				all.Go(func() {
					r, err := connect.Accept(t.Context(), near, cfg)
					if failure, ok := errors.AsType[*connect.HandshakeError](err); ok {
						assert.Equal(t, connect.CodeNonceReplayed, failure.Code)
						replayed.Add(1)
						return
					}
					accepted.Add(1)
					r.Close()
					r.Wait()
				})
			}
			all.Wait()
			assert.EqualValues(t, 1, accepted.Load())
			assert.EqualValues(t, 15, replayed.Load())
		})
	})

	t.Run("two peers may use the same nonce", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Allow = append(cfg.Allow, strangerID.PeerID())
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			other := plainHello(strangerID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
			requireAccepted(t, cfg, other.frame(t), ignoreSession)
		})
	})

	t.Run("a full store forgets the oldest nonce", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Nonces = connect.NewNonceStore(1)
			second := plainHello(appID, hostNonce, "").signed(t, appID, connect.HelloEnvelope).frame(t)
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			requireAccepted(t, cfg, second, ignoreSession)
			requireRefused(t, cfg, second, connect.CodeNonceReplayed)
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
		})
	})

	type refusal struct {
		code  string
		hello func(t *testing.T) handmade
	}
	inBubbles(t, map[string]refusal{
		"a hello with a bad signature does not use up its nonce": {connect.CodeHelloSignature, func(t *testing.T) handmade {
			return appHello(t).with("signature", quoted(strings.Repeat("A", 86)))
		}},
		"a hello of another role does not use up its nonce": {connect.CodeHandshakeFailed, func(t *testing.T) handmade {
			return plainHello(appID, appNonce, hostNonce).signed(t, appID, connect.HelloEnvelope)
		}},
		"a hello without a host does not use up its nonce": {connect.CodeHandshakeFailed, func(t *testing.T) handmade {
			return plainHello(appID, appNonce, "").with("host", "[]").signed(t, appID, connect.HelloEnvelope)
		}},
		"a refused manifest does not use up its nonce": {connect.CodeManifestRefused, func(t *testing.T) handmade {
			return plainHello(appID, appNonce, "").with("host", "{}").signed(t, appID, connect.HelloEnvelope)
		}},
	}, func(t *testing.T, c refusal) {
		cfg := responderConfig()
		cfg.RefuseImperfectManifest = true
		requireRefused(t, cfg, c.hello(t).frame(t), c.code)
		requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
	})

	broken := errors.New("disk full")
	inBubbles(t, map[string]connect.NonceStore{
		"an error of the nonce store refuses": nonceFunc(func(connect.PeerID, string) (bool, error) { return false, broken }),
		"an error of the nonce store refuses even a fresh nonce": nonceFunc(func(connect.PeerID, string) (bool, error) {
			return true, broken
		}),
	}, func(t *testing.T, nonces connect.NonceStore) {
		cfg := responderConfig()
		cfg.Nonces = nonces
		failure := requireRefused(t, cfg, appHello(t).frame(t), connect.CodeNonceStoreFailed)
		assert.ErrorIs(t, failure, broken)
	})

	t.Run("a dialer refuses a responder's nonce that it accepted before", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := dialConfig()
			cfg.Nonces = connect.NewNonceStore(0)
			frames := func(nonce string) [][]byte {
				return [][]byte{hostHello(t, nonce).frame(t), hostSession(t).frame(t)}
			}
			requireDialAccepts(t, cfg, frames, func(*connect.RemoteAdapter) {})
			requireDialRefuses(t, cfg, connect.CodeNonceReplayed, frames)
		})
	})

	t.Run("an error of a dialer's nonce store refuses", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := dialConfig()
			cfg.Nonces = nonceFunc(func(connect.PeerID, string) (bool, error) { return true, broken })
			failure := requireDialRefuses(t, cfg, connect.CodeNonceStoreFailed, func(nonce string) [][]byte {
				return [][]byte{hostHello(t, nonce).frame(t), hostSession(t).frame(t)}
			})
			assert.ErrorIs(t, failure, broken)
		})
	})
}

func TestNoncesAreRememberedByTheIdentityWhenNothingElseIsSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := responderConfig()
		cfg.Identity, cfg.Nonces = identityOf(0x51), nil
		hello := appHello(t).frame(t)
		requireAccepted(t, cfg, hello, ignoreSession)
		requireRefused(t, cfg, hello, connect.CodeNonceReplayed)
		other := cfg
		other.Identity = identityOf(0x51) // as after a restart
		requireAccepted(t, other, hello, ignoreSession)
	})
}
