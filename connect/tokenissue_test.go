package connect_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestTokensAreIssuedAsTheVectorsSay(t *testing.T) {
	for _, c := range loadTokens(t).Issue {
		t.Run(c.Name, func(t *testing.T) {
			seed, err := hex.DecodeString(c.SeedHex)
			require.NoError(t, err)
			issuer, err := connect.IdentityFromSeed(seed)
			require.NoError(t, err)
			var claims connect.TokenClaims
			if err = json.Unmarshal(c.Claims, &claims); err == nil {
				var token connect.Token
				token, err = connect.IssueToken(issuer, claims, time.Unix(c.Now, 0))
				if c.Error == "" {
					require.NoError(t, err)
					requireSameJSON(t, c.Proof, token)
					return
				}
				assert.Equal(t, c.Error, rejectOf(t, err).Kind())
			}
			assert.Error(t, err)
			assert.NotEmpty(t, c.Error, "a token that can be issued")
		})
	}
}

func TestIssuingRefusesWhatWouldNotVerify(t *testing.T) {
	good := connect.TokenClaims{
		Subject: appID.PeerID(), Audience: hostID.PeerID(), Capabilities: []string{"a"},
		Expires: tokenEpoch.Add(time.Hour), IssuedAt: tokenEpoch, ID: "j",
	}
	token, err := connect.IssueToken(issuerID, good, tokenEpoch)
	require.NoError(t, err)
	assert.Equal(t, issuerID.PeerID(), token.Claims().Issuer)
	text, err := json.Marshal(token)
	require.NoError(t, err)
	_, err = connect.VerifyToken(text, hostCheck())
	require.NoError(t, err)

	for name, change := range map[string]func(c *connect.TokenClaims){
		"no capabilities":            func(c *connect.TokenClaims) { c.Capabilities = nil },
		"an expiry within a minute":  func(c *connect.TokenClaims) { c.Expires = tokenEpoch.Add(time.Minute) },
		"no expiry":                  func(c *connect.TokenClaims) { c.Expires = time.Time{} },
		"an expiry beyond all years": func(c *connect.TokenClaims) { c.Expires = time.Unix(1<<53, 0) },
		"a time of issue too late":   func(c *connect.TokenClaims) { c.IssuedAt = tokenEpoch.Add(61 * time.Second) },
		"a time of issue too early":  func(c *connect.TokenClaims) { c.IssuedAt = time.Unix(-1, 0) },
		"another's name":             func(c *connect.TokenClaims) { c.Issuer = appID.PeerID() },
		"a subject that is no peer":  func(c *connect.TokenClaims) { c.Subject = "app" },
		"an audience that is none":   func(c *connect.TokenClaims) { c.Audience = "" },
		"a jti that is not UTF-8":    func(c *connect.TokenClaims) { c.ID = "\xff" },
		"a capability that is not":   func(c *connect.TokenClaims) { c.Capabilities = []string{"\xff"} },
	} {
		t.Run(name, func(t *testing.T) {
			claims := good
			change(&claims)
			token, err := connect.IssueToken(issuerID, claims, tokenEpoch)
			requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"kind": "token_invalid"})
			assert.True(t, token.IsZero())
		})
	}
	for name, nobody := range map[string]*connect.Identity{"nil": nil, "zero": {}} {
		_, err = connect.IssueToken(nobody, good, tokenEpoch)
		requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"kind": "token_invalid"})
		assert.ErrorContains(t, err, "no issuer", name)
	}
}

func TestWithoutATimeTheClockCounts(t *testing.T) {
	claims := connect.TokenClaims{Subject: appID.PeerID(), Audience: hostID.PeerID(), Capabilities: []string{"a"}, Expires: tokenEpoch}
	bubble(t, func(t *testing.T) { // in the year 2000
		token, err := connect.IssueToken(issuerID, claims, time.Time{})
		require.NoError(t, err)
		text, err := json.Marshal(token)
		require.NoError(t, err)
		check := hostCheck()
		check.Now = time.Time{}
		_, err = connect.VerifyToken(text, check)
		require.NoError(t, err)
		<-time.After(time.Until(tokenEpoch))
		_, err = connect.VerifyToken(text, check)
		assert.ErrorContains(t, err, "expired")
		_, err = connect.IssueToken(issuerID, claims, time.Time{})
		assert.Error(t, err)
	})
}
