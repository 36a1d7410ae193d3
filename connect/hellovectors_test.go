package connect

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
