package connect

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
)

func TestEnvelopeVectorsAreSignedToTheSameEnvelope(t *testing.T) {
	v := vectorsOf[envelopeVectors](t, "envelope.json")
	require.NotEmpty(t, v.Sign)
	id := identityOfSeed(t, v.Seed)
	assert.Equal(t, []byte(v.Key), []byte(id.PublicKey()))
	for i, c := range v.Sign {
		t.Run(fmt.Sprintf("%s %d is signed as the reference signs it", c.Kind, i), func(t *testing.T) {
			kind := envelopeKinds[c.Kind]
			got, err := id.SignEnvelope(kind, c.Unsigned)
			require.NoError(t, err)
			assert.Equal(t, mustCanonical(t, c.Envelope), mustCanonical(t, got))

			signed, err := SignedBytes(kind, c.Envelope)
			require.NoError(t, err)
			assert.Equal(t, mustCanonical(t, c.Unsigned), string(signed))
			again, err := id.SignEnvelope(kind, c.Envelope)
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again), "signing what is signed changes nothing")
		})
	}
}

func TestEnvelopeVectorsAreJudgedAsByTheReference(t *testing.T) {
	v := vectorsOf[envelopeVectors](t, "envelope.json")
	require.NotEmpty(t, v.Verify)
	for _, c := range v.Verify {
		t.Run(c.Kind+": "+c.Name, func(t *testing.T) {
			if !c.Result.OK {
				require.NotEmpty(t, c.Result.Kind)
			}
			err := VerifyEnvelope(envelopeKinds[c.Kind], c.Envelope, ed25519.PublicKey(v.Key), c.Bound)
			requireAuthKind(t, err, c.Result.Kind)
		})
	}
}

func TestEveryChangeOfASignedMemberIsNoticed(t *testing.T) {
	v := vectorsOf[envelopeVectors](t, "envelope.json")
	require.NotEmpty(t, v.Sign)
	for i, c := range v.Sign {
		kind := envelopeKinds[c.Kind]
		for name := range membersOf(t, c.Unsigned) {
			for what, value := range map[string]string{"removed": "", "null": "null", "replaced": `"forged"`} {
				t.Run(fmt.Sprintf("%s %d with its %s %s is refused", c.Kind, i, name, what), func(t *testing.T) {
					err := VerifyEnvelope(kind, changed(t, c.Envelope, name, value), ed25519.PublicKey(v.Key), fmt.Sprintf("s-%d", i))
					requireAuthKind(t, err, spoke.KindEnvelopeAuthInvalid)
				})
			}
		}
	}
}

func TestSignaturesHaveOneText(t *testing.T) {
	v := vectorsOf[envelopeVectors](t, "envelope.json")
	require.NotEmpty(t, v.Sign)
	c := v.Sign[1]
	require.Equal(t, "request", c.Kind)
	var signature string
	require.NoError(t, json.Unmarshal(membersOf(t, c.Envelope)["signature"], &signature))
	for what, text := range spellings(t, signature) {
		t.Run("a signature with "+what+" is refused", func(t *testing.T) {
			envelope := changed(t, c.Envelope, "signature", string(mustJSON(t, text)))
			err := VerifyEnvelope(RequestEnvelope, envelope, ed25519.PublicKey(v.Key), "s-1")
			requireAuthKind(t, err, spoke.KindEnvelopeAuthInvalid)
		})
	}
}

func TestVerifyEnvelopeRefusesWhatItCannotJudge(t *testing.T) {
	v := vectorsOf[envelopeVectors](t, "envelope.json")
	require.NotEmpty(t, v.Sign)
	session, key := v.Sign[0].Envelope, ed25519.PublicKey(v.Key)
	require.NoError(t, VerifyEnvelope(SessionEnvelope, session, key, "s-0"))
	for name, err := range map[string]error{
		"an unknown kind":         VerifyEnvelope(EnvelopeKind(99), session, key, "s-0"),
		"a hello":                 VerifyEnvelope(HelloEnvelope, helloNamed(t, "initiator ok").Hello, key, ""),
		"a key that is too short": VerifyEnvelope(SessionEnvelope, session, key[:31], "s-0"),
		"no key":                  VerifyEnvelope(SessionEnvelope, session, nil, "s-0"),
		"text that is not JSON":   VerifyEnvelope(SessionEnvelope, session[:40], key, "s-0"),
		"an array":                VerifyEnvelope(SessionEnvelope, json.RawMessage(`[]`), key, "s-0"),
		"another kind":            VerifyEnvelope(RequestEnvelope, session, key, "s-0"),
	} {
		t.Run(name+" is envelope_auth_invalid", func(t *testing.T) {
			requireAuthKind(t, err, spoke.KindEnvelopeAuthInvalid)
		})
	}
}

func TestSigningAnIncompleteDocumentNamesWhatIsMissing(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	for kind, want := range map[EnvelopeKind]string{
		HelloEnvelope:    "host, nonce, peer_id, protocol_version",
		SessionEnvelope:  "initial_sequence, initiator_peer_id, negotiated_capabilities, opened_at, responder_peer_id, session_id",
		RequestEnvelope:  "op, payload, request_id, sequence, session_id",
		ResponseEnvelope: "payload, request_id, sequence, session_id",
	} {
		_, err := id.SignEnvelope(kind, json.RawMessage(`{}`))
		require.Error(t, err)
		assert.Equal(t, fmt.Sprintf("connect: %s lacks %s", kind.Algorithm(), want), err.Error())
		_, err = SignedBytes(kind, json.RawMessage(`{}`))
		require.Error(t, err)
	}
	_, err := id.SignEnvelope(EnvelopeKind(0), json.RawMessage(`{}`))
	require.Error(t, err)
	assert.Equal(t, "unknown", EnvelopeKind(0).Algorithm())
}

func TestSigningLeavesOutWhatIsNotSigned(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	got, err := id.SignEnvelope(RequestEnvelope, json.RawMessage(
		`{"extra":1,"extensions":{"x":1},"sequence":1.0,"session_id":"s","request_id":"r","op":"o","payload":{"b":0.10,"a":-0},"nonce":"n","signature":"old"}`))
	require.NoError(t, err)
	members := membersOf(t, got)
	assert.ElementsMatch(t, []string{"sequence", "session_id", "request_id", "op", "payload", "signature", "extensions"}, slices.Collect(maps.Keys(members)))
	assert.Equal(t, "1", string(members["sequence"]))
	assert.Equal(t, `{"a":0,"b":0.1}`, string(members["payload"]))
	assert.Equal(t, "{}", string(members["extensions"]))
	require.NoError(t, VerifyEnvelope(RequestEnvelope, got, id.PublicKey(), "s"))
}

func TestASignatureCoversAuthOnRequestsOnly(t *testing.T) {
	document := json.RawMessage(`{"auth":{"t":1},"error":{},"op":"o","payload":{},"request_id":"r","sequence":0,"session_id":"s"}`)
	for kind, want := range map[EnvelopeKind]string{
		RequestEnvelope:  `{"auth":{"t":1},"op":"o","payload":{},"request_id":"r","sequence":0,"session_id":"s"}`,
		ResponseEnvelope: `{"payload":{},"request_id":"r","sequence":0,"session_id":"s"}`,
	} {
		signed, err := SignedBytes(kind, document)
		require.NoError(t, err)
		assert.Equal(t, want, string(signed))
	}
}
