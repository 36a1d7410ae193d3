package connect_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestTheHandshakeOnTheWire(t *testing.T) {
	t.Run("a dialer's hello is signed and carries no peer nonce", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			require.NoError(t, connect.VerifyHello(d.hello.frame(t), connect.HelloCheck{
				Peer: appID.PeerID(), Key: appID.PublicKey(), Role: connect.InitiatorRole,
			}))
			assert.NotContains(t, d.hello, "peer_nonce")
			assert.Equal(t, "1", string(d.hello["protocol_version"]))
			assert.Equal(t, "{}", string(d.hello["extensions"]))
			assert.Len(t, d.nonce, 22)
			assert.JSONEq(t, manifestText(dialConfig().Manifest), string(d.hello["host"]))
			d.far.Close()
			<-d.done
			requireCode(t, d.err, connect.CodeTransport)
		})
	})

	t.Run("a responder answers the nonce and opens a session of its own making", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireAccepted(t, responderConfig(), appHello(t).frame(t), func(r *connect.Responder, far connect.Transport) {
				hello, err := far.Recv(t.Context())
				require.NoError(t, err)
				require.NoError(t, connect.VerifyHello(hello, connect.HelloCheck{
					Peer: hostID.PeerID(), Key: hostID.PublicKey(), Role: connect.ResponderRole, Nonce: appNonce,
				}))
				frame, err := far.Recv(t.Context())
				require.NoError(t, err)
				require.NoError(t, connect.VerifyEnvelope(connect.SessionEnvelope, frame, hostID.PublicKey(), r.ID()))
				session := handmadeOf(t, frame)
				assert.Equal(t, "0", string(session["initial_sequence"]))
				assert.Equal(t, "{}", string(session["extensions"]))
				assert.Equal(t, string(appID.PeerID()), session.text(t, "initiator_peer_id"))
				assert.Equal(t, string(hostID.PeerID()), session.text(t, "responder_peer_id"))
				assert.Equal(t, r.OpenedAt().Format(time.RFC3339Nano), session.text(t, "opened_at"))
				assert.Equal(t, time.UTC, r.OpenedAt().Location())
				assert.Equal(t, uuid.Version(4), uuid.MustParse(r.ID()).Version())
			})
		})
	})

	t.Run("nonces and session ids are fresh for every session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			respond, seen := responderConfig(), map[string]bool{}
			for range 20 {
				l := connectPair(t, dialConfig(), respond)
				seen[l.app.ID()] = true
				l.close()
			}
			assert.Len(t, seen, 20)
		})
	})

	t.Run("both sides see the same session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			l := connectPair(t, dialConfig(), responderConfig())
			defer l.close()
			assert.True(t, l.app.IsInitiator())
			assert.False(t, l.host.IsInitiator())
			assert.Equal(t, l.app.ID(), l.host.ID())
			assert.True(t, l.app.OpenedAt().Equal(l.host.OpenedAt()))
			assert.Equal(t, hostID.PeerID(), l.app.RemotePeerID())
			assert.Equal(t, appID.PeerID(), l.host.RemotePeerID())
			assert.Equal(t, appID.PeerID(), l.app.LocalPeerID())
			assert.Empty(t, l.app.RemoteManifestProblems())
			assert.JSONEq(t, manifestText(dialConfig().Manifest), string(l.host.RemoteManifestJSON()))
		})
	})
}

// TestResponderAllowlist is the first gate: who is not allowed is refused before
// anything else of the hello is looked at.
func TestResponderAllowlist(t *testing.T) {
	nobody := responderConfig()
	nobody.Allow = nil
	stranger := plainHello(strangerID, appNonce, "")
	signed := func(t *testing.T) handmade { return stranger.signed(t, strangerID, connect.HelloEnvelope) }

	type refusal struct {
		cfg   connect.ResponderConfig
		hello func(t *testing.T) handmade
	}
	inBubbles(t, map[string]refusal{
		"an empty allowlist admits nobody":             {nobody, func(t *testing.T) handmade { return appHello(t) }},
		"a stranger is refused, however well it signs": {responderConfig(), signed},
		"a stranger's signature is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("signature", `"garbage"`)
		}},
		"a stranger's version is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("protocol_version", `"seven"`)
		}},
		"a stranger's nonce is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("nonce", "7")
		}},
		"a stranger's manifest is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("host", "null")
		}},
		"a stranger may send nothing but its id": {responderConfig(), func(*testing.T) handmade {
			return handmade{"peer_id": stranger["peer_id"]}
		}},
		"a hello without a peer id is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).without("peer_id")
		}},
		"a peer id that is no string is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).with("peer_id", `["`+string(appID.PeerID())+`"]`)
		}},
		"a peer id that is very long is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).with("peer_id", quoted(strings.Repeat("1", 100_000)))
		}},
		"a peer id with a space is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).with("peer_id", quoted(appID.PeerID()+" "))
		}},
		"the responder's own id is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return plainHello(hostID, appNonce, "").signed(t, hostID, connect.HelloEnvelope)
		}},
	}, func(t *testing.T, c refusal) {
		var asked atomic.Int32
		c.cfg.Nonces = nonceFunc(func(connect.PeerID, string) (bool, error) {
			asked.Add(1)
			return true, nil
		})
		failure := requireRefused(t, c.cfg, c.hello(t).frame(t), connect.CodePeerNotAllowed)
		assert.Equal(t, connect.HandshakeFailed, failure.Kind)
		assert.Zero(t, asked.Load(), "the nonce store was asked")
	})

	t.Run("an explicit key of the peer's is used", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.PeerKeys = map[connect.PeerID]ed25519.PublicKey{appID.PeerID(): appID.PublicKey()}
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			cfg.Allow = nil
			requireRefused(t, cfg, appHello(t).frame(t), connect.CodePeerNotAllowed)
		})
	})
}

// nonceFunc is a NonceStore.
type nonceFunc func(peer connect.PeerID, nonce string) (bool, error)

func (f nonceFunc) Accept(peer connect.PeerID, nonce string) (bool, error) { return f(peer, nonce) }

func replayedNonce(connect.PeerID, string) (bool, error) { return false, nil }

func TestKindsOfHandshakeErrors(t *testing.T) {
	hello := func(t *testing.T, change helloChange) []byte {
		return change.apply(t, plainHello(appID, appNonce, ""), appID, connect.HelloEnvelope).frame(t)
	}
	inBubbles(t, map[string]func(t *testing.T) error{
		"config": func(t *testing.T) error {
			_, _, err := acceptFrames(t, connect.ResponderConfig{})
			return err
		},
		"handshake": func(t *testing.T) error {
			_, _, err := acceptFrames(t, responderConfig(), hello(t, helloChange{after: dropMember("signature")}))
			return err
		},
		"timeout": func(t *testing.T) error {
			_, _, err := acceptFrames(t, responderConfig())
			return err
		},
		"protocol_version_mismatch": func(t *testing.T) error {
			_, _, err := acceptFrames(t, responderConfig(), hello(t, helloChange{before: setMember("protocol_version", "2")}))
			return err
		},
	}, func(t *testing.T, fail func(t *testing.T) error) {
		var failure *connect.HandshakeError
		require.ErrorAs(t, fail(t), &failure)
		// The subtest is named for the kind.
		assert.Equal(t, t.Name(), "TestKindsOfHandshakeErrors/"+string(failure.Kind))
		assert.Contains(t, failure.Error(), "connect: handshake failed ("+failure.Code+")")
		assert.Contains(t, failure.Error(), errors.Unwrap(failure).Error())
	})
}
