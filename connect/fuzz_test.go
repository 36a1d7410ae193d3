package connect

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

func FuzzParsePeerID(f *testing.F) {
	v := vectorsOf[identityVectors](f, "identity.json")
	require.NotEmpty(f, v.Cases)
	require.NotEmpty(f, v.NotPeerIDs)
	for _, c := range v.Cases {
		f.Add(c.PeerID)
	}
	for _, c := range v.NotPeerIDs {
		f.Add(c.PeerID)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// Any 32 bytes are a key of exactly one text.
		key := make(ed25519.PublicKey, ed25519.PublicKeySize)
		copy(key, text)
		own, err := NewPeerID(key)
		require.NoError(t, err)
		back, err := own.PublicKey()
		require.NoError(t, err)
		require.Equal(t, key, back)

		id, err := ParsePeerID(text)
		if err != nil {
			require.Empty(t, id)
			return
		}
		key, err = id.PublicKey()
		require.NoError(t, err)
		again, err := NewPeerID(key)
		require.NoError(t, err)
		require.Equal(t, text, string(again))
	})
}

// documents are the envelopes of all vectors, signed and unsigned.
func documents(t testing.TB) []json.RawMessage {
	t.Helper()
	hellos, envelopes := vectorsOf[helloVectors](t, "hello.json"), vectorsOf[envelopeVectors](t, "envelope.json")
	require.NotEmpty(t, hellos.Verify)
	require.NotEmpty(t, envelopes.Sign)
	require.NotEmpty(t, envelopes.Verify)
	var all []json.RawMessage
	for _, c := range hellos.Verify {
		all = append(all, c.Hello)
	}
	for _, c := range envelopes.Sign {
		all = append(all, c.Unsigned, c.Envelope)
	}
	for _, c := range envelopes.Verify {
		all = append(all, c.Envelope)
	}
	return all
}

func FuzzParseEnvelope(f *testing.F) {
	for _, document := range documents(f) {
		f.Add([]byte(document))
	}
	id := identityOfSeed(f, leakSeed())
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		var e envelope
		err := parseEnvelope(&e, frame, 256)
		if errors.Is(err, jcs.ErrDepth) {
			return // tools that sign documents go deeper than a session
		}
		if err != nil {
			for kind := HelloEnvelope; kind <= ResponseEnvelope; kind++ {
				require.Error(t, VerifyEnvelope(kind, frame, id.PublicKey(), ""))
				_, err := id.SignEnvelope(kind, frame)
				require.Error(t, err)
			}
			return
		}
		class := classify(&e)
		for _, f := range []field{fieldSequence, fieldInitialSequence, fieldProtocolVersion} {
			n, ok := e.integer(f)
			require.True(t, !ok || n <= maxSequence)
		}
		require.Equal(t, before, frame, "parsing changes nothing")
		require.Equal(t, class, classify(&e), "a class stays")

		canonical, err := Canonicalize(bytes.Clone(frame))
		require.NoError(t, err)
		var same envelope
		require.NoError(t, parseEnvelope(&same, canonical, 256))
		require.Equal(t, class, classify(&same), "the canonical form is of the same class")
		require.Equal(t, e.present, same.present)
		require.Equal(t, e.unknown, same.unknown)

		for kind := HelloEnvelope; kind <= ResponseEnvelope; kind++ {
			checkSigning(t, id, kind, frame)
		}
		require.Equal(t, before, frame, "signing and verifying change nothing")
	})
}

// checkOwnFrame asserts that a frame which is the session's own is judged as one that
// others read, and is unchanged afterwards.
func checkOwnFrame(t *testing.T, id *Identity, kind EnvelopeKind, frame []byte) {
	var shared, own envelope
	require.NoError(t, parseEnvelope(&shared, frame, 0))
	mine := bytes.Clone(frame)
	require.NoError(t, parseEnvelope(&own, mine, 0))
	own.own = mine
	shape, err := kind.shapeOf(&own)
	require.NoError(t, err)
	require.Equal(t, shared.verify(shape, id.PublicKey()), own.verify(shape, id.PublicKey()))
	require.Equal(t, string(frame), string(mine))
	for f := range fieldCount {
		if own.signedSet(shape).has(fields(f)) && own.verify(shape, id.PublicKey()) == "" {
			require.Equal(t, string(shared.values[f].Value), string(own.values[f].Value), "%s is canonical", fieldNames[f])
		}
	}
}

// checkSigning asserts that what can be signed can be verified.
func checkSigning(t *testing.T, id *Identity, kind EnvelopeKind, frame []byte) {
	signed, err := SignedBytes(kind, frame)
	if err != nil {
		_, err = id.SignEnvelope(kind, frame)
		require.Error(t, err, "what has no signed bytes cannot be signed")
		require.Error(t, VerifyEnvelope(kind, frame, id.PublicKey(), ""), "nor verified")
		return
	}
	fixed, err := jcs.Canonical(bytes.Clone(signed))
	require.NoError(t, err)
	require.Equal(t, string(signed), string(fixed), "signed bytes are canonical")

	sealed, err := id.SignEnvelope(kind, frame)
	require.NoError(t, err)
	again, err := SignedBytes(kind, sealed)
	require.NoError(t, err)
	require.Equal(t, string(signed), string(again), "a signed envelope has the signed bytes of its document")

	var e envelope
	require.NoError(t, parseEnvelope(&e, sealed, 0))
	shape, err := kind.shapeOf(&e)
	require.NoError(t, err)
	require.Empty(t, e.verify(shape, id.PublicKey()))
	require.Equal(t, spoke.KindEnvelopeAuthInvalid, e.verify(shape, identityOfSeed(t, make([]byte, 32)).PublicKey()))
	checkOwnFrame(t, id, kind, frame)
	checkOwnFrame(t, id, kind, sealed)
	if kind == HelloEnvelope {
		return
	}
	sessionID, ok := e.text(fieldSessionID)
	bound := VerifyEnvelope(kind, sealed, id.PublicKey(), sessionID)
	if ok {
		requireAuthKind(t, bound, "")
	} else {
		requireAuthKind(t, bound, spoke.KindEnvelopeAuthSessionUnbound)
	}
	requireAuthKind(t, VerifyEnvelope(kind, sealed, id.PublicKey(), sessionID+"x"), spoke.KindEnvelopeAuthSessionUnbound)
}

// helloCodes are the codes of a hello that is refused, and their kinds.
var helloCodes = map[string]HandshakeKind{
	CodeMalformed:       HandshakeFailed,
	CodeVersionMismatch: HandshakeVersionMismatch,
	CodeInvalidNonce:    HandshakeFailed,
	CodeHandshakeFailed: HandshakeFailed,
	CodeHelloSignature:  HandshakeFailed,
}

func FuzzVerifyHello(f *testing.F) {
	v := vectorsOf[helloVectors](f, "hello.json")
	require.NotEmpty(f, v.Verify)
	for _, c := range v.Verify {
		check := c.check()
		f.Add([]byte(c.Hello), uint8(check.Role), check.Nonce, []byte(check.Key))
		f.Add([]byte(c.Hello), uint8(InitiatorRole), check.Nonce, []byte(check.Key))
	}
	f.Fuzz(func(t *testing.T, document []byte, role uint8, nonce string, key []byte) {
		check := HelloCheck{Key: key, Role: HelloRole(role % 3), Nonce: nonce}
		check.Peer, _ = NewPeerID(key)
		before := bytes.Clone(document)
		err := VerifyHello(document, check)
		require.Equal(t, before, document, "judging changes nothing")
		again := VerifyHello(document, check)
		if err == nil {
			require.NoError(t, again)
			checkAccepted(t, document, check)
			return
		}
		failure, ok := errors.AsType[*HandshakeError](err)
		require.True(t, ok, "%T", err)
		kind, known := helloCodes[failure.Code]
		require.True(t, known, failure.Code)
		require.Equal(t, kind, failure.Kind)
		require.Error(t, failure.Err)
		require.EqualError(t, again, err.Error())
		require.Equal(t, failure.Code == CodeMalformed, parseEnvelope(new(envelope), document, 0) != nil)
	})
}

// checkAccepted asserts with other means that an accepted hello deserves it.
func checkAccepted(t *testing.T, document []byte, check HelloCheck) {
	var hello struct {
		ProtocolVersion float64 `json:"protocol_version"`
		PeerID          PeerID  `json:"peer_id"`
		Nonce           string  `json:"nonce"`
		PeerNonce       *string `json:"peer_nonce"`
		Signature       string  `json:"signature"`
	}
	require.NoError(t, json.Unmarshal(document, &hello))
	assert.InDelta(t, 1, hello.ProtocolVersion, 0)
	assert.Equal(t, check.Peer, hello.PeerID)
	for _, nonce := range slices.DeleteFunc([]*string{&hello.Nonce, hello.PeerNonce}, func(s *string) bool { return s == nil }) {
		assert.True(t, 16 <= utf16Length(*nonce) && utf16Length(*nonce) <= 128)
	}
	assert.False(t, check.Role == InitiatorRole && hello.PeerNonce != nil)
	assert.False(t, check.Role == ResponderRole && (hello.PeerNonce == nil || *hello.PeerNonce != check.Nonce))

	signed, err := SignedBytes(HelloEnvelope, document)
	require.NoError(t, err)
	signature, err := base64.RawURLEncoding.DecodeString(hello.Signature)
	require.NoError(t, err)
	assert.True(t, ed25519.Verify(check.Key, signed, signature))

	canonical, err := Canonicalize(bytes.Clone(document))
	require.NoError(t, err)
	require.NoError(t, VerifyHello(canonical, check), "the canonical form is accepted as well")
}
