package connect_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

// helloChange is one way to change a hello; no code means that it is accepted still.
type helloChange struct {
	code   string
	before func(handmade) handmade // signing
	after  func(handmade) handmade
}

func setMember(name, value string) func(handmade) handmade {
	return func(m handmade) handmade { return m.with(name, value) }
}

func dropMember(name string) func(handmade) handmade {
	return func(m handmade) handmade { return m.without(name) }
}

func (c helloChange) apply(t testing.TB, plain handmade, id *connect.Identity, kind connect.EnvelopeKind) handmade {
	t.Helper()
	if c.before != nil {
		plain = c.before(plain)
	}
	m := plain.signed(t, id, kind)
	if c.after != nil {
		m = c.after(m)
	}
	return m
}

// helloChanges are changes to a member that both roles judge alike.
var helloChanges = map[string]helloChange{
	"an unchanged hello is accepted": {},

	"version 1.0 is version 1":            {after: setMember("protocol_version", "1.0")},
	"version 10e-1 is version 1":          {after: setMember("protocol_version", "10e-1")},
	"version 0 is another one":            {connect.CodeVersionMismatch, setMember("protocol_version", "0"), nil},
	"version 2 is another one":            {connect.CodeVersionMismatch, setMember("protocol_version", "2"), nil},
	"version -1 is another one":           {connect.CodeVersionMismatch, setMember("protocol_version", "-1"), nil},
	"version 1.5 is another one":          {connect.CodeVersionMismatch, setMember("protocol_version", "1.5"), nil},
	"version 1e300 is another one":        {connect.CodeVersionMismatch, setMember("protocol_version", "1e300"), nil},
	"a version that is text is none":      {connect.CodeVersionMismatch, setMember("protocol_version", `"1"`), nil},
	"a version that is true is none":      {connect.CodeVersionMismatch, setMember("protocol_version", "true"), nil},
	"a version that is null is none":      {connect.CodeVersionMismatch, setMember("protocol_version", "null"), nil},
	"a version that is a list is none":    {connect.CodeVersionMismatch, setMember("protocol_version", "[1]"), nil},
	"a version that is missing is none":   {connect.CodeVersionMismatch, nil, dropMember("protocol_version")},
	"a version is judged before the rest": {connect.CodeVersionMismatch, setMember("protocol_version", "2"), setMember("signature", `""`)},

	"a nonce of 15 characters is too short":         {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("n", 15))), nil},
	"a nonce of 16 characters is accepted":          {before: setMember("nonce", quoted(strings.Repeat("n", 16)))},
	"a nonce of 128 characters is accepted":         {before: setMember("nonce", quoted(strings.Repeat("n", 128)))},
	"a nonce of 129 characters is too long":         {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("n", 129))), nil},
	"a nonce of 8 astral characters has 16 units":   {before: setMember("nonce", quoted(strings.Repeat("🎲", 8)))},
	"a nonce of 15 units is too short":              {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("🎲", 7)+"n")), nil},
	"a nonce of 64 astral characters has 128 units": {before: setMember("nonce", quoted(strings.Repeat("🎲", 64)))},
	"a nonce of 129 units is too long":              {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("🎲", 64)+"n")), nil},
	"an escaped nonce counts what it means":         {connect.CodeInvalidNonce, nil, setMember("nonce", `"`+strings.Repeat(`\u006e`, 15)+`"`)},
	"a nonce that is a number is none":              {connect.CodeInvalidNonce, setMember("nonce", "12345678901234567890"), nil},
	"a nonce that is null is none":                  {connect.CodeInvalidNonce, setMember("nonce", "null"), nil},
	"a nonce that is a list is none":                {connect.CodeInvalidNonce, setMember("nonce", `["nnnnnnnnnnnnnnnnnnnn"]`), nil},
	"a nonce that is missing is none":               {connect.CodeInvalidNonce, nil, dropMember("nonce")},

	"a peer nonce that is null is no nonce":      {connect.CodeInvalidNonce, nil, setMember("peer_nonce", "null")},
	"a peer nonce that is short is no nonce":     {connect.CodeInvalidNonce, nil, setMember("peer_nonce", `"nnnnnnnnnnnnnnn"`)},
	"a peer nonce that is long is no nonce":      {connect.CodeInvalidNonce, nil, setMember("peer_nonce", quoted(strings.Repeat("n", 129)))},
	"a peer nonce that is a number is no nonce":  {connect.CodeInvalidNonce, nil, setMember("peer_nonce", "12345678901234567890")},
	"a peer nonce that is an object is no nonce": {connect.CodeInvalidNonce, nil, setMember("peer_nonce", "{}")},

	"a host that changed after signing is noticed": {connect.CodeHelloSignature, nil, setMember("host", `{"host_id":"another"}`)},
	"a nonce that changed after signing is noticed": {
		connect.CodeHelloSignature, nil, setMember("nonce", `"another nonce of the peer's"`)},
	"a missing signature is noticed":         {connect.CodeHelloSignature, nil, dropMember("signature")},
	"an empty signature is noticed":          {connect.CodeHelloSignature, nil, setMember("signature", `""`)},
	"a signature that is null is noticed":    {connect.CodeHelloSignature, nil, setMember("signature", "null")},
	"a signature that is a list is noticed":  {connect.CodeHelloSignature, nil, setMember("signature", "[]")},
	"a signature that is garbage is noticed": {connect.CodeHelloSignature, nil, setMember("signature", `"!"`)},
	"a signature of 86 zeros is noticed":     {connect.CodeHelloSignature, nil, setMember("signature", quoted(strings.Repeat("A", 86)))},
	"a signature of 63 bytes is noticed": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		return m.with("signature", string(m["signature"][:85])+`"`)
	}},
	"a signature with padding is not canonical": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		return m.with("signature", strings.TrimSuffix(string(m["signature"]), `"`)+`=="`)
	}},
	"a signature with a line end is not canonical": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		return m.with("signature", strings.TrimSuffix(string(m["signature"]), `"`)+`\n"`)
	}},
	"a signature with stray bits is not canonical": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		text := bytes.Clone(m["signature"])
		text[len(text)-2]++ // the last digit carries two bits, and zeros
		return m.with("signature", string(text))
	}},
	"an escape in the signature is only another spelling": {after: func(m handmade) handmade {
		text := string(m["signature"])
		return m.with("signature", `"\u00`+hexOf(text[1])+text[2:])
	}},

	"an unknown member is refused":             {connect.CodeHelloSignature, nil, setMember("x", "1")},
	"a member of another envelope is refused":  {connect.CodeHelloSignature, nil, setMember("auth", "null")},
	"a member that differs in case is refused": {connect.CodeHelloSignature, nil, setMember("Host", "{}")},
	"an empty member name is refused":          {connect.CodeHelloSignature, nil, setMember("", "1")},
	"extensions may be missing":                {after: dropMember("extensions")},
	"extensions are not signed":                {after: setMember("extensions", `{"a":{"b":1}}`)},

	"a missing host is noticed":         {connect.CodeHelloSignature, nil, dropMember("host")},
	"a host that is null is no host":    {connect.CodeHandshakeFailed, setMember("host", "null"), nil},
	"a host that is a list is no host":  {connect.CodeHandshakeFailed, setMember("host", "[{}]"), nil},
	"a host that is text is no host":    {connect.CodeHandshakeFailed, setMember("host", `"{}"`), nil},
	"a host that is a number is none":   {connect.CodeHandshakeFailed, setMember("host", "1"), nil},
	"a host without members is a host":  {before: setMember("host", "{}")},
	"numbers of the host are canonical": {before: setMember("host", `{"schema_version":1}`), after: setMember("host", `{"schema_version":1.00}`)},
}

func hexOf(c byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{digits[c>>4], digits[c&15]})
}

func TestResponderJudgesTheHello(t *testing.T) {
	changes := maps.Clone(helloChanges)
	maps.Copy(changes, map[string]helloChange{
		"a dialer's hello with a peer nonce is refused": {connect.CodeHandshakeFailed, setMember("peer_nonce", quoted(hostNonce)), nil},
		"a peer nonce is not smuggled in unsigned":      {connect.CodeHandshakeFailed, nil, setMember("peer_nonce", quoted(hostNonce))},
		"a peer nonce that was signed cannot be dropped": {
			connect.CodeHelloSignature, setMember("peer_nonce", quoted(hostNonce)), dropMember("peer_nonce")},
	})
	inBubbles(t, changes, func(t *testing.T, c helloChange) {
		frame := c.apply(t, plainHello(appID, appNonce, ""), appID, connect.HelloEnvelope).frame(t)
		if c.code == "" {
			requireAccepted(t, responderConfig(), frame, ignoreSession)
			return
		}
		failure := requireRefused(t, responderConfig(), frame, c.code)
		assert.Equal(t, appID.PeerID(), failure.Peer)
	})

	t.Run("a hello that another key signed is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hello := plainHello(appID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
			requireRefused(t, responderConfig(), hello.frame(t), connect.CodeHelloSignature)
		})
	})

	t.Run("an allowed peer cannot send the hello of another allowed peer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Allow = append(cfg.Allow, strangerID.PeerID())
			hello := appHello(t).with("peer_id", quoted(strangerID.PeerID()))
			requireRefused(t, cfg, hello.frame(t), connect.CodeHelloSignature)
		})
	})
}

func TestDialerJudgesTheHello(t *testing.T) {
	changes := maps.Clone(helloChanges)
	maps.Copy(changes, map[string]helloChange{
		"a hello without our nonce is refused":       {connect.CodeHandshakeFailed, dropMember("peer_nonce"), nil},
		"our nonce cannot be dropped after signing":  {connect.CodeHandshakeFailed, nil, dropMember("peer_nonce")},
		"a hello that answers another is refused":    {connect.CodeHandshakeFailed, setMember("peer_nonce", quoted(appNonce)), nil},
		"a hello that answers itself is refused":     {connect.CodeHandshakeFailed, setMember("peer_nonce", quoted(hostNonce)), nil},
		"a hello that claims another id is refused":  {connect.CodeHandshakeFailed, setMember("peer_id", quoted(strangerID.PeerID())), nil},
		"a hello that claims our own id is refused":  {connect.CodeHandshakeFailed, setMember("peer_id", quoted(appID.PeerID())), nil},
		"a hello that claims no id is refused":       {connect.CodeHandshakeFailed, nil, dropMember("peer_id")},
		"a hello whose id is no string is refused":   {connect.CodeHandshakeFailed, setMember("peer_id", "{}"), nil},
		"a nonce equal to our own is not a failure":  {before: func(m handmade) handmade { return m.with("nonce", string(m["peer_nonce"])) }},
		"our nonce may be spelled with escapes":      {after: func(m handmade) handmade { return m.with("peer_nonce", escaped(m["peer_nonce"])) }},
		"our nonce in another case is not our nonce": {connect.CodeHandshakeFailed, func(m handmade) handmade { return m.with("peer_nonce", swapCase(m["peer_nonce"])) }, nil},
	})
	inBubbles(t, changes, func(t *testing.T, c helloChange) {
		frames := func(nonce string) [][]byte {
			hello := c.apply(t, plainHello(hostID, hostNonce, nonce), hostID, connect.HelloEnvelope)
			return [][]byte{hello.frame(t), hostSession(t).frame(t)}
		}
		if c.code == "" {
			requireDialAccepts(t, dialConfig(), frames, func(*connect.RemoteAdapter) {})
			return
		}
		failure := requireDialRefuses(t, dialConfig(), c.code, frames)
		assert.Equal(t, hostID.PeerID(), failure.Peer)
	})

	t.Run("a hello that another key signed is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireDialRefuses(t, dialConfig(), connect.CodeHelloSignature, func(nonce string) [][]byte {
				return [][]byte{plainHello(hostID, hostNonce, nonce).signed(t, strangerID, connect.HelloEnvelope).frame(t)}
			})
		})
	})

	t.Run("another allowed peer cannot answer in place of the dialed one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := dialConfig()
			cfg.Allow = append(cfg.Allow, strangerID.PeerID())
			requireDialRefuses(t, cfg, connect.CodeHandshakeFailed, func(nonce string) [][]byte {
				return [][]byte{plainHello(strangerID, hostNonce, nonce).signed(t, strangerID, connect.HelloEnvelope).frame(t)}
			})
		})
	})

	t.Run("the dialer's own hello played back is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			d.answer(t, d.hello.frame(t))
			<-d.done
			requireCode(t, d.err, connect.CodeHandshakeFailed)
		})
	})
}

// escaped spells a string with escapes.
func escaped(text json.RawMessage) string {
	var b strings.Builder
	for _, c := range text[1 : len(text)-1] {
		b.WriteString(`\u00` + hexOf(c))
	}
	return `"` + b.String() + `"`
}

func swapCase(text json.RawMessage) string {
	for i, c := range text {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			swapped := bytes.Clone(text)
			swapped[i] ^= 0x20
			return string(swapped)
		}
	}
	panic("no letter")
}

// TestHelloCheckOfTheKey is the gate that Dial and Accept close by their configuration:
// the key to verify by must be the expected peer's.
func TestHelloCheckOfTheKey(t *testing.T) {
	good := connect.HelloCheck{Peer: appID.PeerID(), Key: appID.PublicKey()}
	hello := appHello(t)
	require.NoError(t, connect.VerifyHello(hello.frame(t), good))

	check := good
	check.Key = hostID.PublicKey()
	requireCode(t, connect.VerifyHello(hello.frame(t), check), connect.CodeHandshakeFailed)
	requireCode(t, connect.VerifyHello(hello.with("nonce", "0").frame(t), check), connect.CodeInvalidNonce)
	check.Key = nil
	requireCode(t, connect.VerifyHello(hello.frame(t), check), connect.CodeHandshakeFailed)
	check = connect.HelloCheck{Peer: hostID.PeerID(), Key: hostID.PublicKey()}
	requireCode(t, connect.VerifyHello(hello.frame(t), check), connect.CodeHandshakeFailed)
}
