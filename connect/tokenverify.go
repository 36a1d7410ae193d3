package connect

import (
	"crypto/ed25519"
	"encoding/json"
	"slices"
	"time"

	"github.com/spoke-peer/spoke-go/internal/b64url"
	"github.com/spoke-peer/spoke-go/spoke"
)

const (
	tokenVersion = 1
	// tokenSkew is how far, in seconds, an issuer's clock may be ahead.
	tokenSkew = 60
)

// TokenCheck is what a token is judged against.
type TokenCheck struct {
	// Trusted are the issuers whose word counts. Nil trusts nobody.
	Trusted []PeerID
	// Self is the peer that judges, the token's audience, and Peer the authenticated
	// peer that presented it, its subject.
	Self, Peer PeerID
	// Now is the time that counts. Zero means the clock's.
	Now time.Time
}

// VerifyToken judges a token as it came and returns what it says. It needs no network.
// A failure is a [*spoke.Reject] of kind token_invalid; its message says which check was
// the first to fail and shows nothing of the token.
//
// Source: wire spec, section 8.
func VerifyToken(document json.RawMessage, check TokenCheck) (TokenClaims, error) {
	if check.Now.IsZero() {
		check.Now = time.Now()
	}
	p, why := check.verify(document)
	if why != "" {
		return TokenClaims{}, spoke.Rejectf(spoke.CodeInternalError, "%s", why).WithKind(spoke.KindTokenInvalid)
	}
	return p.claims, nil
}

// verify runs the checks of wire spec, section 8, in its order, and returns why the
// first failed, "" if none did.
func (c TokenCheck) verify(document []byte) (*proof, string) {
	p, ok := parseProof(document)
	if !ok {
		return nil, "the capability token is malformed"
	}
	for _, step := range []func(*proof) string{
		tokenVersionOf, tokenSignature, c.issuer, c.subject, c.audience, c.timely, tokenID,
	} {
		if why := step(p); why != "" {
			return nil, why
		}
	}
	return p, ""
}

func tokenVersionOf(p *proof) string {
	if p.version != tokenVersion {
		return "the capability token is of another version"
	}
	return ""
}

// tokenSignature verifies by the key inside the issuer's id, which is not decoded when
// it is longer than any id.
func tokenSignature(p *proof) string {
	key, err := p.claims.Issuer.PublicKey()
	if err != nil {
		return "the capability token's issuer is no peer id"
	}
	signature, err := b64url.Decode(p.signature)
	if err != nil || !ed25519.Verify(key, p.signed, signature) {
		return "the capability token's signature is not valid"
	}
	return ""
}

func (c TokenCheck) issuer(p *proof) string {
	if !slices.Contains(c.Trusted, p.claims.Issuer) {
		return "the capability token's issuer is not trusted"
	}
	return ""
}

func (c TokenCheck) subject(p *proof) string {
	if p.claims.Subject != c.Peer {
		return "the capability token belongs to another peer"
	}
	return ""
}

func (c TokenCheck) audience(p *proof) string {
	if p.claims.Audience != c.Self {
		return "the capability token is meant for another peer"
	}
	return ""
}

func (c TokenCheck) timely(p *proof) string { return p.claims.timely(c.Now) }

// timely says why the claims do not hold at now, "" when they do.
func (c *TokenClaims) timely(now time.Time) string {
	switch {
	case now.Unix() >= c.Expires.Unix():
		return "the capability token has expired"
	case !c.IssuedAt.IsZero() && c.IssuedAt.Unix() > now.Unix()+tokenSkew:
		return "the capability token comes from the future"
	}
	return ""
}

func tokenID(p *proof) string {
	if p.emptyID {
		return "the capability token's jti is empty"
	}
	return ""
}
