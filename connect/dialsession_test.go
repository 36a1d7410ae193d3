package connect_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestDialerJudgesTheSession(t *testing.T) {
	invalid := func(member, value string) helloChange {
		return helloChange{code: connect.CodeInvalidSession, before: setMember(member, value)}
	}
	unverified := func(after func(handmade) handmade) helloChange {
		return helloChange{code: spoke.KindEnvelopeAuthInvalid, after: after}
	}
	inBubbles(t, map[string]helloChange{
		"a session that is not signed is refused":            {spoke.KindEnvelopeAuthMissing, nil, dropMember("signature")},
		"a session whose signature is empty is refused":      {spoke.KindEnvelopeAuthMissing, nil, setMember("signature", `""`)},
		"a session whose signature is no text is refused":    {spoke.KindEnvelopeAuthMissing, nil, setMember("signature", "1")},
		"a session that changed after signing is refused":    unverified(setMember("session_id", `"another session"`)),
		"a session with an unknown member is refused":        unverified(setMember("x", "1")),
		"a session with a member of a request is refused":    unverified(setMember("op", `"upsert"`)),
		"a session with auth is refused":                     unverified(setMember("auth", "{}")),
		"a session that lacks a member is refused":           unverified(dropMember("opened_at")),
		"a session that lacks its id is refused":             unverified(dropMember("session_id")),
		"a session without extensions is accepted":           {after: dropMember("extensions")},
		"a session with extensions is accepted":              {after: setMember("extensions", `{"a":{}}`)},
		"swapped peers are refused":                          {connect.CodeInvalidSession, swapPeers, nil},
		"another initiator is refused":                       invalid("initiator_peer_id", quoted(strangerID.PeerID())),
		"another responder is refused":                       invalid("responder_peer_id", quoted(strangerID.PeerID())),
		"an initiator that is no text is refused":            invalid("initiator_peer_id", "null"),
		"a responder that is no text is refused":             invalid("responder_peer_id", "[]"),
		"a first sequence of 1 is refused":                   invalid("initial_sequence", "1"),
		"a first sequence of -1 is refused":                  invalid("initial_sequence", "-1"),
		"a first sequence that is text is refused":           invalid("initial_sequence", `"0"`),
		"a first sequence that is null is refused":           invalid("initial_sequence", "null"),
		"a first sequence of 0.0 is 0":                       {after: setMember("initial_sequence", "0.0")},
		"a first sequence of -0 is 0":                        {after: setMember("initial_sequence", "-0")},
		"an empty session id is refused":                     invalid("session_id", `""`),
		"a session id of 128 characters is accepted":         {before: setMember("session_id", quoted(strings.Repeat("s", 128)))},
		"a session id of 64 astral characters is accepted":   {before: setMember("session_id", quoted(strings.Repeat("🎲", 64)))},
		"a session id of 129 characters is refused":          invalid("session_id", quoted(strings.Repeat("s", 129))),
		"a session id of 65 astral characters is refused":    invalid("session_id", quoted(strings.Repeat("🎲", 65))),
		"a session id that is a number is refused":           invalid("session_id", "7"),
		"a session id that is null is refused":               invalid("session_id", "null"),
		"a session id that is an object is refused":          invalid("session_id", `{"id":"s"}`),
		"a time that is no time is refused":                  invalid("opened_at", `"yesterday"`),
		"a time that is a date only is refused":              invalid("opened_at", `"2030-01-02"`),
		"a time without a zone is refused":                   invalid("opened_at", `"2030-01-02T03:04:05"`),
		"a time that is a number is refused":                 invalid("opened_at", "1893553445"),
		"a time whose hour has one digit is refused":         invalid("opened_at", `"2030-01-02T3:04:05Z"`),
		"a time in another zone is refused":                  invalid("opened_at", `"2030-01-02T03:04:05+01:00"`),
		"a leap second is accepted":                          {before: setMember("opened_at", `"2016-12-31t23:59:60z"`)},
		"a time of whole seconds is accepted":                {before: setMember("opened_at", `"2030-01-02T03:04:05Z"`)},
		"an empty list of capabilities is refused":           invalid("negotiated_capabilities", "[]"),
		"capabilities that are null are refused":             invalid("negotiated_capabilities", "null"),
		"capabilities that are text are refused":             invalid("negotiated_capabilities", `"spoke-baseline"`),
		"capabilities that are an object are refused":        invalid("negotiated_capabilities", `{"spoke-baseline":1}`),
		"a capability that is a number is refused":           invalid("negotiated_capabilities", `["spoke-baseline",1]`),
		"capabilities that nobody negotiated change nothing": {before: setMember("negotiated_capabilities", `["tools.test.slow","admin"]`)},
	}, func(t *testing.T, c helloChange) {
		frames := func(nonce string) [][]byte {
			session := c.apply(t, plainSession(), hostID, connect.SessionEnvelope)
			return [][]byte{hostHello(t, nonce).frame(t), session.frame(t)}
		}
		if c.code != "" {
			failure := requireDialRefuses(t, dialConfig(), c.code, frames)
			assert.Equal(t, connect.HandshakeFailed, failure.Kind)
			assert.Equal(t, hostID.PeerID(), failure.Peer)
			return
		}
		requireDialAccepts(t, dialConfig(), frames, func(app *connect.RemoteAdapter) {
			// What the two hellos have in common, in the responder's order.
			want := []string{connect.CapabilityBaseline, "test.ops", echoTool, otherTool}
			assert.Equal(t, want, app.NegotiatedCapabilities())
		})
	})

	signers := map[string]*connect.Identity{
		"a session that a stranger signed is refused":        strangerID,
		"a session that the dialer itself signed is refused": appID,
	}
	inBubbles(t, signers, func(t *testing.T, signer *connect.Identity) {
		requireDialRefuses(t, dialConfig(), spoke.KindEnvelopeAuthInvalid, func(nonce string) [][]byte {
			session := plainSession().signed(t, signer, connect.SessionEnvelope)
			return [][]byte{hostHello(t, nonce).frame(t), session.frame(t)}
		})
	})

	t.Run("a second hello is no session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireDialRefuses(t, dialConfig(), spoke.KindEnvelopeAuthInvalid, func(nonce string) [][]byte {
				return [][]byte{hostHello(t, nonce).frame(t), hostHello(t, nonce).frame(t)}
			})
		})
	})

	t.Run("a peer that leaves after its hello is named", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			d.answer(t, hostHello(t, d.nonce).frame(t))
			d.far.Close()
			<-d.done
			failure := requireCode(t, d.err, connect.CodeTransport)
			assert.ErrorIs(t, failure, io.EOF)
			assert.Equal(t, hostID.PeerID(), failure.Peer)
		})
	})
}

func swapPeers(m handmade) handmade {
	return m.with("initiator_peer_id", string(m["responder_peer_id"])).
		with("responder_peer_id", string(m["initiator_peer_id"]))
}

func TestReusedSessionIDs(t *testing.T) {
	dialTwice := func(t *testing.T, ids ...string) string {
		var log bytes.Buffer
		cfg := dialConfig()
		cfg.Identity = identityOf(0x63) // one that has met nobody
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		for i, id := range ids {
			frames := func(nonce string) [][]byte {
				hello := plainHello(hostID, strings.Repeat("n", 16+i), nonce).signed(t, hostID, connect.HelloEnvelope)
				session := plainSession().with("session_id", quoted(id)).signed(t, hostID, connect.SessionEnvelope)
				return [][]byte{hello.frame(t), session.frame(t)}
			}
			requireDialAccepts(t, cfg, frames, func(app *connect.RemoteAdapter) { assert.Equal(t, id, app.ID()) })
		}
		return log.String()
	}
	t.Run("a session id that came before is accepted with a warning", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			log := dialTwice(t, "one", "one")
			assert.Equal(t, 1, strings.Count(log, "level=WARN"), log)
			assert.Contains(t, log, "reused a session id")
			assert.Contains(t, log, string(hostID.PeerID()))
		})
	})
	t.Run("fresh session ids are not worth a warning", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			assert.NotContains(t, dialTwice(t, "one", "two"), "level=WARN")
		})
	})
}
