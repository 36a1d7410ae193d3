package connect_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

var issuerID = identityOf(0x69)

// tokenEpoch is when tokens of tests are made; it is not the time of any clock.
var tokenEpoch = time.Unix(1_800_000_000, 0)

type tokenVectors struct {
	Verify []struct {
		Name        string
		Proof       json.RawMessage
		Trusted     []connect.PeerID `json:"trusted_issuers"`
		ThisPeer    connect.PeerID   `json:"this_peer_id"`
		SessionPeer connect.PeerID   `json:"session_peer_id"`
		Now         int64
		Result      struct {
			OK           bool
			Code         string
			Capabilities []string
		}
	}
	Issue []struct {
		Name    string
		SeedHex string `json:"seed_hex"`
		Claims  json.RawMessage
		Now     int64
		Proof   json.RawMessage
		Error   string
	}
}

func loadTokens(t testing.TB) tokenVectors {
	t.Helper()
	var v tokenVectors
	require.NoError(t, vectors.Load("token.json", &v))
	require.NotEmpty(t, v.Verify)
	require.NotEmpty(t, v.Issue)
	return v
}

func TestTokensVerifyAsTheVectorsSay(t *testing.T) {
	for _, c := range loadTokens(t).Verify {
		t.Run(c.Name, func(t *testing.T) {
			claims, err := connect.VerifyToken(c.Proof, connect.TokenCheck{
				Trusted: c.Trusted, Self: c.ThisPeer, Peer: c.SessionPeer, Now: time.Unix(c.Now, 0),
			})
			if !c.Result.OK {
				assert.Equal(t, c.Result.Code, rejectOf(t, err).Kind())
				assert.Zero(t, claims)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.Result.Capabilities, claims.Capabilities)
		})
	}
}

// requireSameJSON compares the canonical bytes.
func requireSameJSON(t testing.TB, want json.RawMessage, got any) {
	t.Helper()
	canonical, err := connect.Canonicalize(want)
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	text, err = connect.Canonicalize(text) // json.Marshal has a spelling of its own for < and &
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(text))
}

// signedToken returns a token over claims that nobody judged.
func signedToken(t testing.TB, id *connect.Identity, claims string) json.RawMessage {
	t.Helper()
	canonical, err := connect.Canonicalize([]byte(claims))
	require.NoError(t, err)
	return raw(`{"v":1,"claims":%s,"sig":%q}`, claims, base64.RawURLEncoding.EncodeToString(id.Sign(canonical)))
}

// claimsText returns the claims of a good token of the app's at the host, changed.
func claimsText(t testing.TB, changes object) string {
	t.Helper()
	claims := object{"iss": issuerID.PeerID(), "sub": appID.PeerID(), "aud": hostID.PeerID(),
		"capabilities": []string{connect.CapabilityBaseline}, "exp": tokenEpoch.Unix() + 600}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	text, err := json.Marshal(claims)
	require.NoError(t, err)
	return string(text)
}

// hostCheck is how the host judges a token of the app's.
func hostCheck() connect.TokenCheck {
	return connect.TokenCheck{Trusted: []connect.PeerID{issuerID.PeerID()}, Self: hostID.PeerID(), Peer: appID.PeerID(), Now: tokenEpoch}
}

// The golden figures are of the public protocol.
func TestAGoldenTokenVerifies(t *testing.T) {
	claims := `{"iss":"12D3KooWJ1TsijH7H5F74hfAD5XishQz3sxrmAtVY37GtNd9CqYf","sub":"12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7",` +
		`"aud":"12D3KooWB8sCGZCrwr79HtabLAn95qyPQx6RYHXjEbiD6QKou7ww","capabilities":["spoke-baseline","l2-computable"],` +
		`"exp":1000003600,"iat":1000000000,"jti":"golden-jti-001"}`
	token := raw(`{"v":1,"claims":%s,"sig":%q}`, claims, "aO1IaobmXMTiY09XpuPM2-KMNlrxXnhT90RIz-XwveogPXVK4E6JU9RADwhpBUphEjm-ucPPSjF0nX82JNrgBg")
	got, err := connect.VerifyToken(token, connect.TokenCheck{
		Trusted: []connect.PeerID{"12D3KooWJ1TsijH7H5F74hfAD5XishQz3sxrmAtVY37GtNd9CqYf"},
		Self:    "12D3KooWB8sCGZCrwr79HtabLAn95qyPQx6RYHXjEbiD6QKou7ww",
		Peer:    "12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7",
		Now:     time.Unix(1_000_000_000, 0),
	})
	require.NoError(t, err)
	requireSameJSON(t, json.RawMessage(claims), got)
}

func TestTheChecksOfATokenComeInTheOrderOfTheSpec(t *testing.T) {
	late := hostCheck()
	late.Now = tokenEpoch.Add(time.Hour)
	stranger := hostCheck()
	stranger.Trusted = nil
	early := hostCheck()
	early.Now = tokenEpoch.Add(-time.Hour)
	self := object{"iss": strangerID.PeerID(), "sub": "x", "aud": "x", "exp": 1, "iat": tokenEpoch.Unix() + 9000, "jti": ""}
	without := func(names ...string) string {
		changes := object{}
		for name, value := range self {
			changes[name] = value
		}
		for _, name := range names {
			delete(changes, name)
		}
		return claimsText(t, changes)
	}
	sign := func(id *connect.Identity, claims string) json.RawMessage { return signedToken(t, id, claims) }
	asVersion2 := func(token json.RawMessage) json.RawMessage {
		return bytes.Replace(token, []byte(`"v":1`), []byte(`"v":2`), 1)
	}
	for _, c := range []struct {
		name, want string
		token      json.RawMessage
		check      connect.TokenCheck
	}{
		{"the shape before the version", "malformed", asVersion2(sign(issuerID, claimsText(t, object{"x": 1}))), late},
		{"the version before the signature", "another version", asVersion2(sign(appID, without())), late},
		{"the signature before the issuer", "signature", sign(appID, without()), late},
		{"the issuer before the subject", "not trusted", sign(strangerID, without()), late},
		{"an empty list trusts nobody", "not trusted", sign(issuerID, claimsText(t, nil)), stranger},
		{"the subject before the audience", "belongs to another", sign(issuerID, without("iss")), late},
		{"the audience before the expiry", "meant for another", sign(issuerID, without("iss", "sub")), late},
		{"the expiry before the time of issue", "expired", sign(issuerID, without("iss", "sub", "aud")), hostCheck()},
		{"the time of issue before the jti", "future", sign(issuerID, without("iss", "sub", "aud", "exp")), early},
		{"the jti at last", "jti", sign(issuerID, without("iss", "sub", "aud", "exp", "iat")), hostCheck()},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := connect.VerifyToken(c.token, c.check)
			reject := requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "token_invalid"})
			assert.Contains(t, reject.Message, c.want)
		})
	}
}

func TestTheShapeOfATokenIsExact(t *testing.T) {
	const sig = `"0ytoidDzehDQSckvvOOCKm8rScEbrShcn9xNVHKgMZaykh7LWywS5SjiaTHk4_Lginw3yRMC12RDpD7H6ZoyDA"`
	good := claimsText(t, nil)
	for name, document := range map[string]string{
		"nothing":                    ``,
		"a string":                   `"x"`,
		"no version":                 fmt.Sprintf(`{"claims":%s,"sig":%s}`, good, sig),
		"a version that is a string": fmt.Sprintf(`{"v":"1","claims":%s,"sig":%s}`, good, sig),
		"a negative version":         fmt.Sprintf(`{"v":-1,"claims":%s,"sig":%s}`, good, sig),
		"no signature":               fmt.Sprintf(`{"v":1,"claims":%s}`, good),
		"a null signature":           fmt.Sprintf(`{"v":1,"claims":%s,"sig":null}`, good),
		"a member twice":             fmt.Sprintf(`{"v":1,"v":1,"claims":%s,"sig":%s}`, good, sig),
		"claims in a list":           fmt.Sprintf(`{"v":1,"claims":[%s],"sig":%s}`, good, sig),
		"more text behind it":        fmt.Sprintf(`{"v":1,"claims":%s,"sig":%s} {}`, good, sig),
		"a name in capitals":         fmt.Sprintf(`{"V":1,"claims":%s,"sig":%s}`, good, sig),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connect.ParseToken(json.RawMessage(document))
			assert.Error(t, err)
			_, err = connect.VerifyToken(json.RawMessage(document), hostCheck())
			assert.ErrorContains(t, err, "malformed")
		})
	}
}

func TestTheShapeOfClaimsIsExact(t *testing.T) {
	for name, changes := range map[string]object{
		"no issuer":                          {"iss": nil},
		"no subject":                         {"sub": nil},
		"no audience":                        {"aud": nil},
		"no capabilities":                    {"capabilities": nil},
		"no expiry":                          {"exp": nil},
		"an issuer that is a number":         {"iss": 1},
		"capabilities that are a string":     {"capabilities": "spoke-baseline"},
		"capabilities that are null":         {"capabilities": raw(`null`)},
		"a capability that is null":          {"capabilities": []any{"a", raw(`null`)}},
		"a capability that is a number":      {"capabilities": []any{1}},
		"a negative expiry":                  {"exp": -1},
		"an expiry with a fraction":          {"exp": raw(`1800000600.5`)},
		"an expiry that no double carries":   {"exp": raw(`9007199254740993`)},
		"an expiry beyond 2^53":              {"exp": raw(`9007199254740992`)},
		"an expiry that is null":             {"exp": raw(`null`)},
		"a negative time of issue":           {"iat": -1},
		"a time of issue that is a string":   {"iat": "1"},
		"a time of issue that is null":       {"iat": raw(`null`)},
		"a jti that is a number":             {"jti": 1},
		"a jti that is null":                 {"jti": raw(`null`)},
		"a claim that nobody knows":          {"scope": "x"},
		"a known claim spelled another way":  {"Exp": 1},
		"a critical header of another world": {"crit": []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			token := signedToken(t, issuerID, claimsText(t, changes))
			_, err := connect.VerifyToken(token, hostCheck())
			assert.ErrorContains(t, err, "malformed")
			var claims connect.TokenClaims
			assert.Error(t, json.Unmarshal([]byte(claimsText(t, changes)), &claims))
		})
	}
}

func TestWhatATokenMayLookLike(t *testing.T) {
	for name, changes := range map[string]object{
		"without optional claims":           {},
		"with them":                         {"iat": tokenEpoch.Unix(), "jti": "j"},
		"issued at the epoch of the clock":  {"iat": 0},
		"issued a minute from now":          {"iat": tokenEpoch.Unix() + 60},
		"one that expires in a second":      {"exp": tokenEpoch.Unix() + 1},
		"an integer in another form":        {"exp": raw(`1800000600.0`)},
		"an integer with an exponent":       {"exp": raw(`18000006e2`)},
		"one that grants nothing":           {"capabilities": []string{}},
		"one that grants a thing twice":     {"capabilities": []string{"a", "a"}},
		"one that never expires in earnest": {"exp": raw(`9007199254740991`)},
	} {
		t.Run(name, func(t *testing.T) {
			token := signedToken(t, issuerID, claimsText(t, changes))
			_, err := connect.VerifyToken(token, hostCheck())
			require.NoError(t, err)
			parsed, err := connect.ParseToken(token)
			require.NoError(t, err)
			requireSameJSON(t, token, parsed)
			requireSameJSON(t, json.RawMessage(claimsText(t, changes)), parsed.Claims())
		})
	}
}

func TestASignatureOfATokenHasOneText(t *testing.T) {
	token := signedToken(t, issuerID, claimsText(t, nil))
	for name, change := range map[string]func(sig string) string{
		"padding":              func(sig string) string { return sig + "==" },
		"the other alphabet":   func(string) string { return strings.Repeat("+", 86) },
		"slack bits":           func(sig string) string { return sig[:85] + string(sig[85]+1) },
		"a byte less":          func(sig string) string { return sig[:84] },
		"no text":              func(string) string { return "" },
		"another's word":       func(string) string { return strings.Repeat("A", 86) },
		"a newline behind it":  func(sig string) string { return sig + `\n` },
		"a signature and more": func(sig string) string { return sig + "AAAA" },
	} {
		t.Run(name, func(t *testing.T) {
			var doc struct{ Sig string }
			require.NoError(t, json.Unmarshal(token, &doc))
			spoiled := strings.Replace(string(token), doc.Sig, change(doc.Sig), 1)
			require.NotEqual(t, string(token), spoiled)
			_, err := connect.VerifyToken(json.RawMessage(spoiled), hostCheck())
			assert.ErrorContains(t, err, "signature")
		})
	}
	_, err := connect.VerifyToken(token, hostCheck())
	require.NoError(t, err)
}

func TestATokenShowsNothingOfItself(t *testing.T) {
	token, err := connect.ParseToken(signedToken(t, issuerID, claimsText(t, object{"jti": "j-secret"})))
	require.NoError(t, err)
	holder := struct{ Config connect.DialConfig }{connect.DialConfig{Token: token}}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("m", "token", token)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&log, verb+"\n", token)
		fmt.Fprintf(&log, verb+"\n", holder.Config.Token)
	}
	fmt.Fprintf(&log, "%+v\n", holder)
	assert.NotContains(t, log.String(), "j-secret")
	assert.NotContains(t, log.String(), string(issuerID.PeerID()))
	assert.Equal(t, "capability token", token.String())
	assert.Equal(t, "no capability token", connect.Token{}.String())
}

func TestATokenTravelsInsideOtherJSON(t *testing.T) {
	token, err := connect.ParseToken(signedToken(t, issuerID, claimsText(t, nil)))
	require.NoError(t, err)
	type letter struct{ Token connect.Token }
	text, err := json.Marshal([]letter{{token}, {}})
	require.NoError(t, err)
	var back []letter
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, []letter{{token}, {}}, back)
	assert.Error(t, json.Unmarshal([]byte(`{"Token":{"v":1}}`), &letter{}))
}

func FuzzToken(f *testing.F) {
	v := loadTokens(f)
	for _, c := range v.Verify {
		f.Add([]byte(c.Proof))
	}
	for _, c := range v.Issue {
		f.Add([]byte(c.Proof))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		_, err := connect.VerifyToken(document, hostCheck())
		require.Error(t, err, "nobody but the issuer can make a token")
		require.Equal(t, spoke.KindTokenInvalid, spoke.KindOf(err))
		token, err := connect.ParseToken(document)
		if err != nil {
			require.True(t, token.IsZero())
			return
		}
		requireSameJSON(t, document, token)
		claims, err := json.Marshal(token.Claims())
		require.NoError(t, err)
		var again connect.TokenClaims
		if err := json.Unmarshal(claims, &again); err == nil {
			require.Equal(t, token.Claims(), again)
		}
	})
}
