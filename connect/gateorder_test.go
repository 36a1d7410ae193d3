package connect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// fault is one thing that is wrong with a handshake.
type fault struct {
	name   string
	code   string
	says   string // a part of the error's text, for faults of one code
	member string // what it changes; two faults of one member do not go together
	change helloChange
	torn   bool // the frame is no JSON
	config func(*connect.Config)
}

func (f fault) configure(cfg *connect.Config) {
	if f.config != nil {
		f.config(cfg)
	}
}

// both returns the frame of an envelope with both faults.
func bothFaults(t testing.TB, first, second fault, plain handmade, id *connect.Identity, kind connect.EnvelopeKind) []byte {
	t.Helper()
	for _, f := range []fault{first, second} {
		if f.change.before != nil {
			plain = f.change.before(plain)
		}
	}
	m := plain.signed(t, id, kind)
	for _, f := range []fault{first, second} {
		if f.change.after != nil {
			m = f.change.after(m)
		}
	}
	frame := m.frame(t)
	if first.torn || second.torn {
		frame = frame[:len(frame)-1]
	}
	return frame
}

// eachPair runs f for each fault with each later one: the first must win.
func eachPair(t *testing.T, faults []fault, f func(t *testing.T, first, second fault)) {
	t.Helper()
	for i, first := range faults {
		for _, second := range faults[i:] {
			if first.name != second.name && first.member == second.member {
				continue
			}
			t.Run(first.name+" comes before "+second.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) { f(t, first, second) })
			})
		}
	}
}

// helloFaults are the gates of a hello that both roles have, in order.
func helloFaults(sender, role fault) []fault {
	return []fault{
		{name: "torn text", code: connect.CodeMalformed, member: "frame", torn: true},
		{name: "another version", code: connect.CodeVersionMismatch, member: "protocol_version",
			change: helloChange{before: setMember("protocol_version", "2")}},
		{name: "a short nonce", code: connect.CodeInvalidNonce, member: "nonce",
			change: helloChange{before: setMember("nonce", `"short"`)}},
		sender,
		role,
		{name: "an invalid signature", code: connect.CodeHelloSignature, member: "signature",
			change: helloChange{after: setMember("signature", quoted(strings.Repeat("A", 86)))}},
		{name: "an array for a host", code: connect.CodeHandshakeFailed, says: "host", member: "host",
			change: helloChange{before: setMember("host", "[]")}},
		{name: "an imperfect manifest", code: connect.CodeManifestRefused, member: "host",
			change: helloChange{before: setMember("host", "{}")},
			config: func(cfg *connect.Config) { cfg.RefuseImperfectManifest = true }},
		{name: "a replayed nonce", code: connect.CodeNonceReplayed, member: "store",
			config: func(cfg *connect.Config) { cfg.Nonces = nonceFunc(replayedNonce) }},
	}
}

func TestTheFirstGateOfTheResponderWins(t *testing.T) {
	stranger := fault{name: "a stranger", code: connect.CodePeerNotAllowed, member: "peer_id",
		change: helloChange{before: setMember("peer_id", quoted(strangerID.PeerID()))}}
	role := fault{name: "a peer nonce", code: connect.CodeHandshakeFailed, says: "peer_nonce", member: "peer_nonce",
		change: helloChange{before: setMember("peer_nonce", quoted(hostNonce))}}
	faults := helloFaults(stranger, role)
	// The allowlist comes before the version and the nonce, which a dialer judges first.
	faults[1], faults[2], faults[3] = faults[3], faults[1], faults[2]
	eachPair(t, faults, func(t *testing.T, first, second fault) {
		cfg := responderConfig()
		first.configure(&cfg.Config)
		second.configure(&cfg.Config)
		frame := bothFaults(t, first, second, plainHello(appID, appNonce, ""), appID, connect.HelloEnvelope)
		failure := requireRefused(t, cfg, frame, first.code)
		assert.Contains(t, failure.Error(), first.says)
	})
}

func TestTheFirstGateOfTheDialerWins(t *testing.T) {
	sender := fault{name: "another sender", code: connect.CodeHandshakeFailed, says: "not from", member: "peer_id",
		change: helloChange{before: setMember("peer_id", quoted(strangerID.PeerID()))}}
	role := fault{name: "another nonce answered", code: connect.CodeHandshakeFailed, says: "another nonce", member: "peer_nonce",
		change: helloChange{before: setMember("peer_nonce", quoted(appNonce))}}
	eachPair(t, helloFaults(sender, role), func(t *testing.T, first, second fault) {
		cfg := dialConfig()
		first.configure(&cfg.Config)
		second.configure(&cfg.Config)
		failure := requireDialRefuses(t, cfg, first.code, func(nonce string) [][]byte {
			frame := bothFaults(t, first, second, plainHello(hostID, hostNonce, nonce), hostID, connect.HelloEnvelope)
			return [][]byte{frame, []byte("no session either")}
		})
		assert.Contains(t, failure.Error(), first.says)
	})
}

func TestTheFirstGateOfTheSessionWins(t *testing.T) {
	before := func(member, value string) helloChange { return helloChange{before: setMember(member, value)} }
	eachPair(t, []fault{
		{name: "torn text", code: connect.CodeMalformed, member: "frame", torn: true},
		{name: "no signature", code: spoke.KindEnvelopeAuthMissing, member: "signature",
			change: helloChange{after: dropMember("signature")}},
		{name: "an invalid signature", code: spoke.KindEnvelopeAuthInvalid, member: "signature",
			change: helloChange{after: setMember("signature", quoted(strings.Repeat("A", 86)))}},
		{name: "an unknown member", code: spoke.KindEnvelopeAuthInvalid, member: "x",
			change: helloChange{after: setMember("x", "1")}},
		{name: "an empty session id", code: connect.CodeInvalidSession, says: "session_id", member: "session_id",
			change: before("session_id", `""`)},
		{name: "another initiator", code: connect.CodeInvalidSession, says: "other peers", member: "initiator_peer_id",
			change: before("initiator_peer_id", quoted(strangerID.PeerID()))},
		{name: "a first sequence of 1", code: connect.CodeInvalidSession, says: "initial_sequence", member: "initial_sequence",
			change: before("initial_sequence", "1")},
		{name: "an unreadable time", code: connect.CodeInvalidSession, says: "opened_at", member: "opened_at",
			change: before("opened_at", `"yesterday"`)},
		{name: "an empty list", code: connect.CodeInvalidSession, says: "negotiated_capabilities", member: "negotiated_capabilities",
			change: before("negotiated_capabilities", "[]")},
	}, func(t *testing.T, first, second fault) {
		failure := requireDialRefuses(t, dialConfig(), first.code, func(nonce string) [][]byte {
			session := bothFaults(t, first, second, plainSession(), hostID, connect.SessionEnvelope)
			return [][]byte{hostHello(t, nonce).frame(t), session}
		})
		assert.Contains(t, failure.Error(), first.says)
		assert.Equal(t, hostID.PeerID(), failure.Peer)
	})
}
