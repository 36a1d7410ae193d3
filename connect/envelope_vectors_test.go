package connect

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

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

func TestHelloVectorsAreSignedToTheSameBytes(t *testing.T) {
	v := vectorsOf[helloVectors](t, "hello.json")
	require.NotEmpty(t, v.Sign)
	for i, c := range v.Sign {
		t.Run(fmt.Sprintf("hello %d is signed as the reference signs it", i), func(t *testing.T) {
			document := map[string]any{"protocol_version": 1, "peer_id": c.PeerID, "nonce": c.Nonce, "host": c.Host}
			if c.PeerNonce != nil {
				document["peer_nonce"] = *c.PeerNonce
			}
			unsigned := mustJSON(t, document)
			signed, err := SignedBytes(HelloEnvelope, unsigned)
			require.NoError(t, err)
			assert.Equal(t, string(c.JCS), string(signed))

			id := identityOfSeed(t, c.Seed)
			assert.Equal(t, c.PeerID, string(id.PeerID()))
			envelope, err := id.SignEnvelope(HelloEnvelope, unsigned)
			require.NoError(t, err)
			members := membersOf(t, envelope)
			assert.Equal(t, `"`+c.Signature+`"`, string(members["signature"]))
			assert.Equal(t, `{}`, string(members["extensions"]))

			check := HelloCheck{Peer: id.PeerID(), Key: id.PublicKey(), Role: InitiatorRole}
			if c.PeerNonce != nil {
				check.Role, check.Nonce = ResponderRole, *c.PeerNonce
			}
			requireHandshakeCode(t, VerifyHello(envelope, check), "")
		})
	}
}

func TestHelloVectorsAreJudgedAsByTheReference(t *testing.T) {
	v := vectorsOf[helloVectors](t, "hello.json")
	require.NotEmpty(t, v.Verify)
	for _, c := range v.Verify {
		t.Run(c.Name, func(t *testing.T) {
			if !c.Result.OK {
				require.NotEmpty(t, c.Result.Code)
			}
			requireHandshakeCode(t, VerifyHello(c.Hello, c.check()), c.Result.Code)
		})
	}
}

// helloNamed returns a vector that is accepted.
func helloNamed(t testing.TB, name string) helloToVerify {
	t.Helper()
	v := vectorsOf[helloVectors](t, "hello.json")
	i := slices.IndexFunc(v.Verify, func(c helloToVerify) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, "no vector %q", name)
	require.NoError(t, VerifyHello(v.Verify[i].Hello, v.Verify[i].check()))
	return v.Verify[i]
}

func TestAHelloOfTheOtherRoleIsRefused(t *testing.T) {
	initiator, responder := helloNamed(t, "initiator ok"), helloNamed(t, "responder ok")
	asRole := func(v helloToVerify, role HelloRole, nonce string) error {
		return VerifyHello(v.Hello, HelloCheck{Peer: v.PeerID, Key: ed25519.PublicKey(v.Key), Role: role, Nonce: nonce})
	}
	requireHandshakeCode(t, asRole(initiator, InitiatorRole, ""), "")
	requireHandshakeCode(t, asRole(responder, ResponderRole, *responder.PeerNonce), "")
	requireHandshakeCode(t, asRole(responder, InitiatorRole, ""), CodeHandshakeFailed)
	requireHandshakeCode(t, asRole(initiator, ResponderRole, *responder.PeerNonce), CodeHandshakeFailed)
	requireHandshakeCode(t, asRole(initiator, ResponderRole, ""), CodeHandshakeFailed)
	requireHandshakeCode(t, asRole(responder, ResponderRole, "another-nonce-000001"), CodeHandshakeFailed)
}

// spellings are other texts of the same signature.
func spellings(t testing.TB, signature string) map[string]string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	require.NoError(t, err)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, signature[len(signature)-1])
	loose := signature[:len(signature)-1] + alphabet[last+1:last+2]
	again, err := base64.RawURLEncoding.DecodeString(loose)
	require.NoError(t, err)
	require.Equal(t, raw, again, "the last character carries unused bits")
	return map[string]string{
		"unused bits set":    loose,
		"padding":            signature + "==",
		"a line break":       signature[:40] + "\n" + signature[40:],
		"a trailing newline": signature + "\n",
		"a leading space":    " " + signature,
		"one byte less":      base64.RawURLEncoding.EncodeToString(raw[:63]),
		"one byte more":      base64.RawURLEncoding.EncodeToString(append(raw, 0)),
		"hex":                hex.EncodeToString(raw),
	}
}

// The reference takes any base64url for the signature of a hello; the wire spec does
// not, nor does it allow a member that nobody signed.
func TestAHelloIsJudgedMoreStrictlyThanByTheReference(t *testing.T) {
	for _, name := range []string{"initiator ok", "responder ok"} {
		c := helloNamed(t, name)
		var signature string
		require.NoError(t, json.Unmarshal(membersOf(t, c.Hello)["signature"], &signature))
		for what, text := range spellings(t, signature) {
			t.Run(name+": a signature with "+what+" is refused", func(t *testing.T) {
				hello := changed(t, c.Hello, "signature", string(mustJSON(t, text)))
				requireHandshakeCode(t, VerifyHello(hello, c.check()), CodeHelloSignature)
			})
		}
		for member, value := range map[string]string{"extra": "1", "auth": "{}", "session_id": `"s"`, "payload": "{}", "": "null"} {
			t.Run(fmt.Sprintf("%s: an unsigned member %q is refused", name, member), func(t *testing.T) {
				members := membersOf(t, c.Hello)
				members[member] = json.RawMessage(value)
				requireHandshakeCode(t, VerifyHello(mustJSON(t, members), c.check()), CodeHelloSignature)
			})
		}
		t.Run(name+": extensions may be left out", func(t *testing.T) {
			requireHandshakeCode(t, VerifyHello(changed(t, c.Hello, "extensions", ""), c.check()), "")
		})
		t.Run(name+": a missing host is refused as not signed", func(t *testing.T) {
			requireHandshakeCode(t, VerifyHello(changed(t, c.Hello, "host", ""), c.check()), CodeHelloSignature)
		})
	}
}

// Each case breaks a check and every later one, so that only the order decides.
func TestTheFirstFailedCheckOfAHelloIsTold(t *testing.T) {
	c := helloNamed(t, "responder ok")
	hello, check := c.Hello, c.check()
	hello = changed(t, hello, "signature", `"AA"`)
	requireHandshakeCode(t, VerifyHello(hello, check), CodeHelloSignature)
	check.Nonce = "another-nonce-000001"
	requireHandshakeCode(t, VerifyHello(hello, check), CodeHandshakeFailed)
	hello = changed(t, hello, "peer_id", `"somebody else"`)
	requireHandshakeCode(t, VerifyHello(hello, check), CodeHandshakeFailed)
	check.Key = check.Key[:31]
	requireHandshakeCode(t, VerifyHello(hello, check), CodeHandshakeFailed)
	hello = changed(t, hello, "peer_nonce", `null`)
	requireHandshakeCode(t, VerifyHello(hello, check), CodeInvalidNonce)
	hello = changed(t, hello, "protocol_version", `2`)
	requireHandshakeCode(t, VerifyHello(hello, check), CodeVersionMismatch)
	requireHandshakeCode(t, VerifyHello(append(hello, '!'), check), CodeMalformed)
}

func TestNoncesAreMeasuredInUTF16CodeUnits(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	for name, c := range map[string]struct {
		nonce string
		code  string
	}{
		"15 characters are too few":                     {strings.Repeat("n", 15), CodeInvalidNonce},
		"16 characters are enough":                      {strings.Repeat("n", 16), ""},
		"128 characters are not too many":               {strings.Repeat("n", 128), ""},
		"129 characters are too many":                   {strings.Repeat("n", 129), CodeInvalidNonce},
		"eight surrogate pairs are 16 characters":       {strings.Repeat("😀", 8), ""},
		"seven surrogate pairs are 14 characters":       {strings.Repeat("😀", 7), CodeInvalidNonce},
		"64 surrogate pairs are 128 characters":         {strings.Repeat("😀", 64), ""},
		"65 surrogate pairs are 130 characters":         {strings.Repeat("😀", 65), CodeInvalidNonce},
		"15 characters of three bytes each are too few": {strings.Repeat("€", 15), CodeInvalidNonce},
		"128 characters of three bytes each are fine":   {strings.Repeat("€", 128), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, peerNonce := range []bool{false, true} {
				document := map[string]any{
					"protocol_version": 1, "peer_id": id.PeerID(), "nonce": c.nonce, "host": map[string]any{},
				}
				if peerNonce {
					document["nonce"], document["peer_nonce"] = strings.Repeat("n", 16), c.nonce
				}
				hello, err := id.SignEnvelope(HelloEnvelope, mustJSON(t, document))
				require.NoError(t, err)
				requireHandshakeCode(t, VerifyHello(hello, HelloCheck{Peer: id.PeerID(), Key: id.PublicKey()}), c.code)
			}
		})
	}
}

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

func TestFieldsStandInCanonicalOrder(t *testing.T) {
	require.LessOrEqual(t, int(fieldCount), 32, "a fieldSet has 32 bits")
	document := map[string]int{}
	for f, name := range fieldNames {
		require.NotEmpty(t, name, "field %d", f)
		document[name] = f
		got, ok := fieldNamed([]byte(name))
		assert.True(t, ok)
		assert.Equal(t, field(f), got)
	}
	require.Len(t, document, int(fieldCount), "names are unique")
	text := mustJSON(t, document)

	var e envelope
	require.NoError(t, parseEnvelope(&e, text, 0))
	assert.False(t, e.unknown)
	all := fieldSet(1<<fieldCount - 1)
	assert.Equal(t, all, e.present)
	signed, err := e.appendSigned(nil, all)
	require.NoError(t, err)
	assert.Equal(t, mustCanonical(t, text), string(signed))

	assert.True(t, slices.IsSortedFunc(fieldNames[:], func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	}), "the order of canonical names is by UTF-16 code unit")
}

func TestMembersOfNoEnvelopeAreNoticed(t *testing.T) {
	for _, name := range []string{"", "Op", "op ", "sequence2", "sessionid", "opération"} {
		var e envelope
		require.NoError(t, parseEnvelope(&e, mustJSON(t, map[string]int{name: 1}), 0))
		assert.True(t, e.unknown, "%q", name)
		assert.Zero(t, e.present, "%q", name)
	}
	var e envelope
	require.NoError(t, parseEnvelope(&e, []byte(`{"\u006f\u0070":"x"}`), 0))
	assert.False(t, e.unknown, "an escaped name is the name")
	assert.Equal(t, fields(fieldOp), e.present)
}

func TestIntegersAreJudgedByValue(t *testing.T) {
	for text, want := range map[string]struct {
		n  uint64
		ok bool
	}{
		"0":                    {0, true},
		"1":                    {1, true},
		"1.0":                  {1, true},
		"1e3":                  {1000, true},
		"1E+3":                 {1000, true},
		"10e-1":                {1, true},
		"0.5e1":                {5, true},
		"-0":                   {0, true},
		"-0.0":                 {0, true},
		"9007199254740991":     {maxSequence, true},
		"9007199254740991.0":   {maxSequence, true},
		"9007199254740992":     {0, false},
		"9007199254740993":     {0, false},
		"18446744073709551615": {0, false},
		"18446744073709551616": {0, false},
		"1e16":                 {0, false},
		"1e300":                {0, false},
		"1.5":                  {0, false},
		"1e-7":                 {0, false},
		"-1":                   {0, false},
		"-1.0":                 {0, false},
		`"1"`:                  {0, false},
		`""`:                   {0, false},
		"true":                 {0, false},
		"null":                 {0, false},
		"[1]":                  {0, false},
		"{}":                   {0, false},
	} {
		t.Run("sequence "+text, func(t *testing.T) {
			var e envelope
			require.NoError(t, parseEnvelope(&e, []byte(`{"sequence": `+text+` }`), 0))
			n, ok := e.integer(fieldSequence)
			assert.Equal(t, want.ok, ok)
			if want.ok {
				assert.Equal(t, want.n, n)
			}
		})
	}
	n, ok := new(envelope).integer(fieldSequence)
	assert.False(t, ok, "an absent member is no integer")
	assert.Zero(t, n)
}

func TestTextIsMeasuredAsJavaScriptMeasuresIt(t *testing.T) {
	for _, text := range []string{"", "abc", "é", "€", "\uffff", "\U00010000", "😀", "a😀b", "e\u0301", "\x00", strings.Repeat("😀", 100)} {
		assert.Equal(t, len(utf16.Encode([]rune(text))), utf16Length(text), "%q", text)
	}
	assert.Equal(t, 2, utf16Length("😀"))
}

func TestFramesAreClassifiedByShape(t *testing.T) {
	const ids = `"session_id":"s","sequence":1,"request_id":"r"`
	long := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	for name, c := range map[string]struct {
		frame string
		want  frameClass
	}{
		"op and payload make a request":             {`{` + ids + `,"op":"o","payload":null}`, requestFrame},
		"an error beside op and payload is ignored": {`{` + ids + `,"op":"o","payload":{},"error":{}}`, requestFrame},
		"payload without op makes a response":       {`{` + ids + `,"payload":{}}`, responseFrame},
		"error without op makes a response":         {`{` + ids + `,"error":{}}`, responseFrame},
		"payload and error make a response":         {`{` + ids + `,"payload":{},"error":{}}`, responseFrame},
		"a sequence of 1.0 is a sequence":           {`{"session_id":"s","sequence":1.0,"request_id":"r","payload":1}`, responseFrame},
		"unknown members do not matter":             {`{` + ids + `,"payload":1,"x":1}`, responseFrame},
		"an op of 256 characters is an op":          {`{` + ids + `,"payload":1,"op":` + long(256) + `}`, requestFrame},
		"an op of 257 characters is not":            {`{` + ids + `,"payload":1,"op":` + long(257) + `}`, otherFrame},
		"an op that is a number is not":             {`{` + ids + `,"payload":1,"op":1}`, otherFrame},
		"an op with an error only":                  {`{` + ids + `,"error":1,"op":"o"}`, otherFrame},
		"an op alone":                               {`{` + ids + `,"op":"o"}`, otherFrame},
		"no payload, error or op":                   {`{` + ids + `}`, otherFrame},
		"a session id that is a number":             {`{"session_id":1,"sequence":1,"request_id":"r","payload":1}`, otherFrame},
		"a session id of 129 characters":            {`{"session_id":` + long(129) + `,"sequence":1,"request_id":"r","payload":1}`, otherFrame},
		"a request id of 129 characters":            {`{"session_id":"s","sequence":1,"request_id":` + long(129) + `,"payload":1}`, otherFrame},
		"ids of 128 characters":                     {`{"session_id":` + long(128) + `,"sequence":1,"request_id":` + long(128) + `,"payload":1}`, responseFrame},
		"a sequence that is a string":               {`{"session_id":"s","sequence":"1","request_id":"r","payload":1}`, otherFrame},
		"a negative sequence":                       {`{"session_id":"s","sequence":-1,"request_id":"r","payload":1}`, otherFrame},
		"a sequence of 2^53":                        {`{"session_id":"s","sequence":9007199254740992,"request_id":"r","payload":1}`, otherFrame},
		"an empty object":                           {`{}`, otherFrame},
	} {
		t.Run(name, func(t *testing.T) {
			var e envelope
			require.NoError(t, parseEnvelope(&e, []byte(c.frame), 0))
			assert.Equal(t, c.want, classify(&e))
			assert.Equal(t, c.want, classify(&e), "asking changes nothing")
		})
	}
}
