package connect

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// Token is a capability token: an issuer's signed word that one peer may use some
// capabilities at another, for a time. It is immutable. The zero value is no token.
//
// A token has a text only where it is meant to travel, [Token.MarshalJSON]; printed or
// logged it shows as "capability token", so that it does not end up in a log.
//
// Source: wire spec, section 8.
type Token struct {
	raw    json.RawMessage // canonical
	claims TokenClaims
}

// TokenClaims is what a token says.
//
// Source: wire spec, section 8.
type TokenClaims struct {
	// Issuer is whose key signs the token. [IssueToken] sets it when it is empty.
	Issuer PeerID
	// Subject is the one peer that may present the token.
	Subject PeerID
	// Audience is the one peer that accepts it.
	Audience PeerID
	// Capabilities are what the token grants; no capabilities grant nothing.
	Capabilities []string
	// Expires is when the token ends to be valid, in whole seconds.
	Expires time.Time
	// IssuedAt is when it was made, in whole seconds. Zero leaves it out.
	IssuedAt time.Time
	// ID names the token. Empty leaves it out. Nothing is decided by it.
	ID string
}

// Members of a token and of its claims.
const (
	memberVersion      = "v"
	memberClaims       = "claims"
	memberSig          = "sig"
	memberIssuer       = "iss"
	memberSubject      = "sub"
	memberAudience     = "aud"
	memberCapabilities = "capabilities"
	memberExpires      = "exp"
	memberIssuedAt     = "iat"
	memberTokenID      = "jti"
)

var errTokenShape = errors.New("connect: not a capability token")

// ParseToken reads a token as an issuer handed it out. It judges the shape alone;
// whether the token is good is for the peer that it names, see [VerifyToken].
//
// Source: wire spec, section 8.
func ParseToken(document json.RawMessage) (Token, error) {
	p, ok := parseProof(document)
	if !ok {
		return Token{}, errTokenShape
	}
	canonical, err := jcs.Canonical(document)
	if err != nil {
		return Token{}, errTokenShape
	}
	return Token{raw: slices.Clone(json.RawMessage(canonical)), claims: p.claims}, nil
}

// Claims returns what the token says. The caller must not change its slices.
func (t Token) Claims() TokenClaims { return t.claims }

// IsZero reports whether t is no token.
func (t Token) IsZero() bool { return t.raw == nil }

// MarshalJSON implements [json.Marshaler] with the token's text, null for no token.
func (t Token) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return slices.Clone(t.raw), nil
}

// UnmarshalJSON implements [json.Unmarshaler] with [ParseToken]; null is no token.
func (t *Token) UnmarshalJSON(document []byte) error {
	if string(document) == "null" {
		*t = Token{}
		return nil
	}
	parsed, err := ParseToken(document)
	if err == nil {
		*t = parsed
	}
	return err
}

// String returns what a token shows as, which is not its text.
func (t Token) String() string {
	if t.IsZero() {
		return "no capability token"
	}
	return "capability token"
}

// Format implements [fmt.Formatter]; every verb prints what String returns.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// LogValue implements [slog.LogValuer].
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalJSON implements [json.Marshaler] with the members of the wire.
func (c TokenClaims) MarshalJSON() ([]byte, error) {
	claims := map[string]any{
		memberIssuer:       c.Issuer,
		memberSubject:      c.Subject,
		memberAudience:     c.Audience,
		memberCapabilities: append([]string{}, c.Capabilities...),
		memberExpires:      c.Expires.Unix(),
	}
	if !c.IssuedAt.IsZero() {
		claims[memberIssuedAt] = c.IssuedAt.Unix()
	}
	if c.ID != "" {
		claims[memberTokenID] = c.ID
	}
	return json.Marshal(claims)
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses what the claims of a token
// must not be: unknown members, wrong types, an empty jti.
func (c *TokenClaims) UnmarshalJSON(document []byte) error {
	claims, emptyID, ok := parseClaims(document)
	if !ok || emptyID {
		return errTokenShape
	}
	*c = claims
	return nil
}
