package connect

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spoke-peer/spoke-go/internal/b64url"
	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// IssueToken signs claims with issuer's key. Now is the issuer's clock; zero means
// [time.Now]. An empty Issuer becomes issuer's id.
//
// It refuses claims that no peer would accept: another Issuer, a Subject or Audience
// that is no peer id, no capabilities, Expires within a minute, IssuedAt more than a
// minute ahead. A failure is a [*spoke.Reject], INVALID_INPUT of kind token_invalid.
//
// Source: wire spec, section 8.
func IssueToken(issuer *Identity, claims TokenClaims, now time.Time) (Token, error) {
	if now.IsZero() {
		now = time.Now()
	}
	token, err := issueToken(issuer, claims, now)
	if err != nil {
		return Token{}, spoke.Rejectf(spoke.CodeInvalidInput, "issue a capability token: %w", err).WithKind(spoke.KindTokenInvalid)
	}
	return token, nil
}

func issueToken(issuer *Identity, claims TokenClaims, now time.Time) (Token, error) {
	if issuer == nil || issuer.private == nil {
		return Token{}, fmt.Errorf("no issuer")
	}
	if claims.Issuer == "" {
		claims.Issuer = issuer.PeerID()
	}
	if err := claims.issuable(issuer.PeerID(), now.Unix()); err != nil {
		return Token{}, err
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		return Token{}, err
	}
	signed, err := jcs.Canonical(raw)
	if err != nil {
		return Token{}, err
	}
	return ParseToken(fmt.Appendf(nil, `{"claims":%s,"sig":%q,"v":%d}`, signed, b64url.Encode(issuer.Sign(signed)), tokenVersion))
}

// issuable reports why a token with these claims would be in vain, apart from its shape.
func (c *TokenClaims) issuable(issuer PeerID, now int64) error {
	expires, issued := c.Expires.Unix(), c.IssuedAt.Unix()
	switch {
	case len(c.Capabilities) == 0:
		return fmt.Errorf("no capabilities")
	case expires <= now+tokenSkew:
		return fmt.Errorf("it must expire more than %d seconds from now", tokenSkew)
	case !c.IssuedAt.IsZero() && issued > now+tokenSkew:
		return fmt.Errorf("it cannot be issued more than %d seconds from now", tokenSkew)
	case c.Issuer != issuer:
		return fmt.Errorf("the issuer is another peer than the key's")
	}
	return c.travels()
}

// travels reports a text that no peer can match or JSON cannot carry.
func (c *TokenClaims) travels() error {
	for _, peer := range []PeerID{c.Subject, c.Audience} {
		if _, err := peer.PublicKey(); err != nil {
			return err
		}
	}
	for _, text := range append([]string{c.ID}, c.Capabilities...) {
		if !validText(text) {
			return fmt.Errorf("text that is not UTF-8")
		}
	}
	return nil
}
