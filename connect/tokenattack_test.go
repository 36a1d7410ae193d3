package connect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

// requireTokenRefused presents a token both ways, on a request and as the answer to the
// challenge, and shows that it opens nothing and that the session lives on.
func requireTokenRefused(t *testing.T, token func(t *testing.T) any) {
	t.Helper()
	withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
		challenge := p.recv()
		assert.Equal(t, tokenFailed, answered(p.askWith(token(t), echoTool)))
		assert.Equal(t, tokenFailed, answered(p.askWith(token(t), echoTool)), "the second time as well")
		p.present(challenge, token(t))
		assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)))
		assert.Equal(t, served, answered(p.askWith(liveToken(t, nil), echoTool)))
	})
	withHost(t, trusting(false), func(t *testing.T, p *wirePeer) {
		assert.Equal(t, tokenFailed, answered(p.askWith(token(t), echoTool)), "also when no token is required")
		p.requireWorks()
	})
}

func TestAttackATokenStolenFromAnotherPeer(t *testing.T) {
	requireTokenRefused(t, func(t *testing.T) any { return liveToken(t, object{"sub": strangerID.PeerID()}) })
}

func TestAttackATokenForAnotherAudience(t *testing.T) {
	requireTokenRefused(t, func(t *testing.T) any { return liveToken(t, object{"aud": strangerID.PeerID()}) })
}

func TestAttackATokenThatExpiresMidSession(t *testing.T) {
	withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
		token := liveToken(t, object{"exp": time.Now().Unix() + 60})
		p.present(p.recv(), token)
		wait(59 * time.Second)
		assert.Equal(t, served, answered(p.askPlain(echoTool)))
		assert.Equal(t, served, answered(p.askWith(token, echoTool)))
		wait(time.Second)
		assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)), "what the challenge brought")
		assert.Equal(t, tokenFailed, answered(p.askWith(token, echoTool)), "what verified before")
		assert.Equal(t, served, answered(p.askWith(liveToken(t, nil), echoTool)), "a new one works")
	})
}

func TestAttackAForgedIssuer(t *testing.T) {
	for name, forge := range map[string]func(t *testing.T) any{
		"the app signs in the issuer's name": func(t *testing.T) any {
			return signedToken(t, appID, string(claimsOf(t, liveToken(t, nil))))
		},
		"the app signs in its own name": func(t *testing.T) any {
			return signedToken(t, appID, string(claimsOf(t, liveToken(t, object{"iss": appID.PeerID()}))))
		},
		"the host's own name": func(t *testing.T) any {
			return signedToken(t, appID, string(claimsOf(t, liveToken(t, object{"iss": hostID.PeerID()}))))
		},
		"the issuer's name in another spelling": func(t *testing.T) any {
			return signedToken(t, issuerID, string(claimsOf(t, liveToken(t, object{"iss": " " + string(issuerID.PeerID())}))))
		},
		"no signature": func(t *testing.T) any {
			return raw(`{"v":1,"claims":%s,"sig":""}`, claimsOf(t, liveToken(t, nil)))
		},
	} {
		t.Run(name, func(t *testing.T) { requireTokenRefused(t, forge) })
	}
}

// claimsOf returns the claims of a token as they stand in it.
func claimsOf(t testing.TB, token json.RawMessage) json.RawMessage {
	t.Helper()
	var doc struct{ Claims json.RawMessage }
	require.NoError(t, json.Unmarshal(token, &doc))
	return doc.Claims
}

func TestAttackWidenedCapabilities(t *testing.T) {
	t.Run("in the signed claims", func(t *testing.T) {
		requireTokenRefused(t, func(t *testing.T) any {
			narrow := liveToken(t, object{"capabilities": []string{otherTool}})
			wide := bytes.Replace(narrow, []byte(`["`+otherTool+`"]`), []byte(`["`+otherTool+`","`+echoTool+`"]`), 1)
			require.NotEqual(t, string(narrow), string(wide))
			return json.RawMessage(wide)
		})
	})
	t.Run("beyond what was negotiated, by the issuer", func(t *testing.T) {
		respond := trusting(true)
		respond.Manifest = testManifest("host", echoTool, otherTool)
		withHost(t, respond, func(t *testing.T, p *wirePeer) {
			token := liveToken(t, object{"capabilities": []string{echoTool, slowTool}})
			p.present(p.recv(), token)
			assert.Equal(t, denied, answered(p.askPlain(slowTool)))
			assert.Equal(t, denied, answered(p.askWith(token, slowTool)))
			assert.Equal(t, served, answered(p.askPlain(echoTool)))
		})
	})
	t.Run("by a wildcard", func(t *testing.T) {
		withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
			p.present(p.recv(), liveToken(t, object{"capabilities": []string{"*", "tools.*", "tools.test.*", echoTool + "/"}}))
			assert.Equal(t, denied, answered(p.askPlain(echoTool)))
		})
	})
	t.Run("by adding up the tokens of several requests", func(t *testing.T) {
		withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
			p.present(p.recv(), liveToken(t, nil))
			other := liveToken(t, object{"capabilities": []string{otherTool}})
			assert.Equal(t, served, answered(p.askWith(other, otherTool)))
			assert.Equal(t, denied, answered(p.askPlain(otherTool)))
			assert.Equal(t, denied, answered(p.askWith(other, echoTool)))
		})
	})
}

func TestAttackAReplayedChallenge(t *testing.T) {
	t.Run("the app answers no second time", func(t *testing.T) {
		withApp(t, func(t *testing.T) connect.DialConfig { return dialToken(t) }, func(t *testing.T, s *connect.Session, p *wirePeer) {
			for range 3 {
				p.sendObject(challengeOf(nil))
			}
			assert.Equal(t, "c1", p.recv()["challenge_id"])
			synctest.Wait()
			p.requireWorks() // and nothing else comes before its answer
		})
	})
	t.Run("an answer recorded in another session opens nothing", func(t *testing.T) {
		var recorded object
		withHost(t, trusting(true), func(t *testing.T, p *wirePeer) { recorded = p.recv() })
		withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
			challenge := p.recv()
			require.NotEqual(t, recorded["challenge_id"], challenge["challenge_id"])
			require.NotEqual(t, recorded["challenge"], challenge["challenge"])
			p.present(recorded, liveToken(t, nil))
			assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)))
		})
	})
	t.Run("an answer played again does not exchange the grant", func(t *testing.T) {
		withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
			challenge := p.recv()
			p.present(challenge, liveToken(t, nil))
			p.present(challenge, liveToken(t, object{"capabilities": []string{otherTool}}))
			assert.Equal(t, denied, answered(p.askPlain(otherTool)))
			assert.Equal(t, served, answered(p.askPlain(echoTool)))
		})
	})
}

func TestAttackATokenDroppedByAMiddleman(t *testing.T) {
	for name, required := range map[string]bool{"a token is required": true, "none is, so that the request would have more rights without": false} {
		t.Run("from a request; "+name, func(t *testing.T) {
			withHost(t, trusting(required), func(t *testing.T, p *wirePeer) {
				if required {
					p.recv()
				}
				doc := p.toolRequest(otherTool)
				doc["auth"] = liveToken(t, nil)
				p.send(edit(p.sign(connect.RequestEnvelope, doc), func(doc object) { delete(doc, "auth") }))
				assert.Equal(t, "auth_failed/envelope_auth_invalid", errorOf(p.recv()))
			})
		})
	}
	t.Run("exchanged on a request", func(t *testing.T) {
		withHost(t, trusting(false), func(t *testing.T, p *wirePeer) {
			doc := p.toolRequest(otherTool)
			doc["auth"] = liveToken(t, nil)
			other := liveToken(t, object{"capabilities": []string{otherTool}})
			p.send(edit(p.sign(connect.RequestEnvelope, doc), func(doc object) { doc["auth"] = other }))
			assert.Equal(t, "auth_failed/envelope_auth_invalid", errorOf(p.recv()))
		})
	})
	t.Run("with the challenge or its answer", func(t *testing.T) {
		withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
			p.recv() // and nothing is answered
			assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)))
		})
	})
}

// Decoding base58 takes time by the square of the length: a quarter of a megabyte would
// keep the reader busy for seconds, a frame full of it for half an hour.
func TestAttackAnOverlongIssuer(t *testing.T) {
	began := time.Now()
	const size = 256 << 10
	for _, iss := range []string{strings.Repeat("z", size), string(issuerID.PeerID()) + strings.Repeat("z", size), strings.Repeat("1", size)} {
		requireTokenRefused(t, func(t *testing.T) any { return liveToken(t, object{"iss": iss}) })
		_, err := connect.IssueToken(issuerID, connect.TokenClaims{
			Subject: connect.PeerID(iss), Audience: hostID.PeerID(),
			Capabilities: []string{"a"}, Expires: time.Now().Add(time.Hour),
		}, time.Time{})
		assert.Error(t, err)
	}
	assert.Less(t, time.Since(began), 5*time.Second)
}
