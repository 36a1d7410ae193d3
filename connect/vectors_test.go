package connect

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
	"github.com/spoke-peer/spoke-go/spoke"
)

// hexBytes is bytes that a vector file holds in hex.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

type identityVectors struct {
	Cases []struct {
		Seed   hexBytes `json:"seed_hex"`
		Key    hexBytes `json:"pubkey_hex"`
		PeerID string   `json:"peer_id"`
	} `json:"cases"`
	NotPeerIDs []struct {
		PeerID string `json:"peer_id"`
	} `json:"not_peer_ids"`
}

type helloVectors struct {
	Sign   []helloToSign   `json:"sign"`
	Verify []helloToVerify `json:"verify"`
}

type helloToSign struct {
	Seed      hexBytes        `json:"seed_hex"`
	Nonce     string          `json:"nonce"`
	PeerNonce *string         `json:"peer_nonce"`
	Host      json.RawMessage `json:"host"`
	JCS       hexBytes        `json:"jcs_hex"`
	PeerID    string          `json:"peer_id"`
	Signature string          `json:"signature"`
}

type helloToVerify struct {
	Name      string          `json:"name"`
	Key       hexBytes        `json:"pubkey_hex"`
	PeerID    PeerID          `json:"expected_peer_id"`
	PeerNonce *string         `json:"expected_peer_nonce"`
	Hello     json.RawMessage `json:"hello"`
	Result    struct {
		OK   bool   `json:"ok"`
		Code string `json:"code"`
	} `json:"result"`
}

// check is what the vector's hello is judged against. A vector without an expected
// nonce says nothing about the role.
func (v helloToVerify) check() HelloCheck {
	c := HelloCheck{Peer: v.PeerID, Key: ed25519.PublicKey(v.Key)}
	if v.PeerNonce != nil {
		c.Role, c.Nonce = ResponderRole, *v.PeerNonce
	}
	return c
}

type envelopeVectors struct {
	Seed hexBytes `json:"seed_hex"`
	Key  hexBytes `json:"pubkey_hex"`
	Sign []struct {
		Kind     string          `json:"kind"`
		Unsigned json.RawMessage `json:"unsigned"`
		Envelope json.RawMessage `json:"envelope"`
	} `json:"sign"`
	Verify []struct {
		Name     string          `json:"name"`
		Kind     string          `json:"kind"`
		Bound    string          `json:"bound_session_id"`
		Envelope json.RawMessage `json:"envelope"`
		Result   struct {
			OK   bool   `json:"ok"`
			Kind string `json:"kind"`
		} `json:"result"`
	} `json:"verify"`
}

// envelopeKinds are the kinds as the vectors name them.
var envelopeKinds = map[string]EnvelopeKind{
	"session":  SessionEnvelope,
	"request":  RequestEnvelope,
	"response": ResponseEnvelope,
}

// vectorsOf reads one vector file.
func vectorsOf[T any](t testing.TB, file string) T {
	t.Helper()
	var v T
	require.NoError(t, vectors.Load(file, &v))
	return v
}

func identityOfSeed(t testing.TB, seed []byte) *Identity {
	t.Helper()
	id, err := IdentityFromSeed(seed)
	require.NoError(t, err)
	return id
}

func mustJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

func mustCanonical(t testing.TB, document json.RawMessage) string {
	t.Helper()
	canonical, err := Canonicalize(document)
	require.NoError(t, err)
	return string(canonical)
}

// membersOf returns the top-level members of a document.
func membersOf(t testing.TB, document json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(document, &members))
	return members
}

// changed returns document with one member set, or without it when value is "".
func changed(t testing.TB, document json.RawMessage, name, value string) json.RawMessage {
	t.Helper()
	members := membersOf(t, document)
	members[name] = json.RawMessage(value)
	if value == "" {
		delete(members, name)
	}
	return mustJSON(t, members)
}

// requireHandshakeCode asserts that err is a handshake error of a code, "" for none.
func requireHandshakeCode(t testing.TB, err error, code string) {
	t.Helper()
	if code == "" {
		require.NoError(t, err)
		return
	}
	var failure *HandshakeError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, code, failure.Code, "%v", err)
	assert.Error(t, failure.Err)
}

// requireAuthKind asserts that err is a reject of an envelope_auth kind, "" for none.
func requireAuthKind(t testing.TB, err error, kind string) {
	t.Helper()
	if kind == "" {
		require.NoError(t, err)
		return
	}
	var reject *spoke.Reject
	require.ErrorAs(t, err, &reject)
	assert.Equal(t, kind, reject.Kind(), "%v", err)
	assert.Equal(t, spoke.CodeInternalError, reject.Code)
	assert.False(t, reject.Remote())
}
