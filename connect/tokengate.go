package connect

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/spoke-peer/spoke-go/spoke"
)

// tokenTerms is what an endpoint has settled about capability tokens, beside what
// [Config] says.
type tokenTerms struct {
	require bool        // of the peer
	own     Token       // ours; zero if none
	source  TokenSource // of ours; nil if none
}

// checkIssuers reports an issuer that is none.
func (ep *endpoint) checkIssuers() error {
	for _, issuer := range ep.TrustedIssuers {
		if _, err := issuer.PublicKey(); err != nil {
			return fmt.Errorf("trusted issuers: %w", err)
		}
	}
	return nil
}

// requireTokens settles whether a responder insists on a token. One that trusts nobody
// could only refuse everybody, so it is a mistake.
func (ep *endpoint) requireTokens(require bool) error {
	if require && len(ep.TrustedIssuers) == 0 {
		return fmt.Errorf("config: RequireCapabilityToken without TrustedIssuers")
	}
	ep.tokens.require = require
	return nil
}

// now returns the time by the configured clock.
func (ep *endpoint) now() time.Time {
	if ep.Now == nil {
		return time.Now()
	}
	return ep.Now()
}

// required is [RequiredCapability] and the application's own ops; "" for an op that the
// dispatch gate denies anyway.
func (ep *endpoint) required(op string) string {
	if capability, ok := RequiredCapability(op); ok {
		return capability
	}
	return ep.ops[op].Capability
}

// grant is a token that verified. Time goes on, so it is asked again at every use.
type grant struct {
	claims  TokenClaims
	granted map[string]bool
}

func newGrant(claims TokenClaims) *grant {
	g := &grant{claims: claims, granted: make(map[string]bool, len(claims.Capabilities))}
	for _, capability := range claims.Capabilities {
		g.granted[capability] = true
	}
	return g
}

// tokenGate is what a session knows of its peer's tokens. It is the reader's alone; the
// zero value knows none.
type tokenGate struct {
	challenge string // id of the challenge that was sent and not answered
	standing  *grant // from the answer to the challenge; nil without one

	// known holds tokens that verified: a peer attaches the same one to every request.
	known recent[*grant]
}

// maxKnownTokens is how many verified tokens a session remembers.
const maxKnownTokens = 4

// authorize is step 4 of serving: it returns the failure of a request whose capability
// token is missing, not good, or does not grant what op requires, nil when it may go on
// to the dispatch gate. A token narrows; what was not negotiated it does not add.
//
// Source: wire spec, section 8.
func (s *Session) authorize(e *envelope, op string) *spoke.ErrorEnvelope {
	g, why := s.grantOf(e)
	if why != "" {
		failure := authFailed(spoke.KindTokenInvalid, why)
		return &failure
	}
	if g == nil || g.granted[s.ep.required(op)] {
		return nil
	}
	failure := unsupported(op)
	return &failure
}

// grantOf returns the grant under which a request runs, nil when none is needed, or why
// there is none. An attached token counts before the answer to the challenge.
func (s *Session) grantOf(e *envelope) (*grant, string) {
	switch {
	case e.present.has(fields(fieldAuth)):
		return s.presented(e.values[fieldAuth].Value)
	case s.gate.standing != nil:
		return s.gate.standing, s.gate.standing.claims.timely(s.ep.now())
	case s.ep.tokens.require:
		return nil, "a capability token is required"
	}
	return nil, ""
}

// presented judges a token that the peer presented, canonical.
func (s *Session) presented(document []byte) (*grant, string) {
	if len(s.ep.TrustedIssuers) == 0 {
		return nil, "no issuer of capability tokens is trusted"
	}
	d := digest(sha256.Sum256(document))
	if g, ok := s.gate.known.get(d); ok {
		return g, g.claims.timely(s.ep.now())
	}
	check := TokenCheck{Trusted: s.ep.TrustedIssuers, Self: s.local, Peer: s.peer.peer, Now: s.ep.now()}
	p, why := check.verify(document)
	if why != "" {
		return nil, why
	}
	g := newGrant(p.claims)
	s.gate.known.put(maxKnownTokens, d, g)
	return g, ""
}
