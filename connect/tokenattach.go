package connect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spoke-peer/spoke-go/spoke"
)

// TokenSource hands out this peer's capability token for the peer that it dials. A
// session calls it when it needs its first token, and again half a minute before the
// last one expires, or when half of its time is over if that is later. Requests go on
// with the old token meanwhile.
//
// Ctx ends with the session, or after the invoke timeout. One call is made at a time.
// An error fails the requests that have no token to go with, with kind token_invalid;
// the error is in their chain and not in their text.
//
// Source: wire spec, section 8.
type TokenSource func(ctx context.Context) (Token, error)

type tokenKey struct{}

// WithToken returns a context under which an invoke carries token, and not the
// session's own: a narrower one for one request, or one for a session that has none. The
// zero Token carries none. A token whose subject is not this peer, or whose audience is
// not the peer that is invoked, is INVALID_INPUT and nothing is sent.
//
// Source: wire spec, section 8.
func WithToken(ctx context.Context, token Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// setTokens settles what a dialer presents to peer.
func (ep *endpoint) setTokens(token Token, source TokenSource, peer PeerID) error {
	if token.IsZero() {
		ep.tokens.source = source
		return nil
	}
	if source != nil {
		return fmt.Errorf("config: both Token and TokenSource")
	}
	if err := token.fits(ep.Identity.PeerID(), peer); err != nil {
		return fmt.Errorf("config: Token: %w", err)
	}
	ep.tokens.own = token
	return nil
}

var (
	errForeignSubject  = errors.New("the capability token's subject is another peer")
	errForeignAudience = errors.New("the capability token's audience is another peer")
	errNoToken         = errors.New("the source of capability tokens returned none")
)

// fits reports why local cannot present the token to remote. It keeps a token from
// being shown to a peer that has no business with it.
func (t Token) fits(local, remote PeerID) error {
	switch {
	case t.claims.Subject != local:
		return errForeignSubject
	case t.claims.Audience != remote:
		return errForeignAudience
	}
	return nil
}

// presents reports whether this side has a token of its own to present.
func (t *tokenTerms) presents() bool { return !t.own.IsZero() || t.source != nil }

// purse holds the token that a session got from its source.
type purse struct {
	challenged bool // a challenge was answered; the reader's alone

	mu     sync.Mutex
	token  Token
	renew  time.Time // when to ask the source again
	flight *tokenFlight
}

// tokenFlight is one call of the source, shared by all who wait for it.
type tokenFlight struct {
	done   chan struct{}
	token  Token // set before done is closed, like reject
	reject *spoke.Reject
}

// attachToken finds the token that a request carries.
func (s *Session) attachToken(p *patience) *spoke.Reject {
	if given, ok := p.ctx.Value(tokenKey{}).(Token); ok {
		if err := given.fits(s.local, s.peer.peer); err != nil && !given.IsZero() {
			return spoke.Rejectf(spoke.CodeInvalidInput, "%w", err).WithKind(spoke.KindTokenInvalid)
		}
		p.auth = given.raw
		return nil
	}
	if !s.ep.tokens.presents() {
		return nil
	}
	token, reject := s.ownToken(p)
	p.auth = token.raw
	return reject
}

// ownToken returns the token that this side presents. It waits for the source only
// when there is no token that is still valid.
func (s *Session) ownToken(p *patience) (Token, *spoke.Reject) {
	if s.ep.tokens.source == nil {
		return s.ep.tokens.own, nil
	}
	token, flight := s.joinFetch()
	if !token.IsZero() {
		return token, nil
	}
	if flight == nil {
		return Token{}, s.gaveUp(p)
	}
	select {
	case <-flight.done:
		if flight.reject != nil && s.ctx.Err() != nil {
			return Token{}, s.closedReject()
		}
		return flight.token, flight.reject
	case <-p.ctx.Done():
	case <-p.expired:
	case <-s.ctx.Done():
	}
	return Token{}, s.gaveUp(p)
}

// joinFetch returns the token in the purse if it is still valid, else the call of the
// source under way. When it is time it starts one; nil once the session has ended.
func (s *Session) joinFetch() (Token, *tokenFlight) {
	now := s.ep.now()
	s.purse.mu.Lock()
	defer s.purse.mu.Unlock()
	valid := now.Before(s.purse.token.claims.Expires)
	if s.purse.flight == nil && (!valid || !now.Before(s.purse.renew)) {
		flight := &tokenFlight{done: make(chan struct{})}
		if s.run(func() { s.fetchToken(flight) }) {
			s.purse.flight = flight
		}
	}
	if valid {
		return s.purse.token, nil
	}
	return Token{}, s.purse.flight
}

// fetchToken calls the source. The call belongs to the session, not to the request that
// happened to be first.
func (s *Session) fetchToken(flight *tokenFlight) {
	ctx, cancel := context.WithTimeout(s.ctx, s.ownTimeout())
	defer cancel()
	err := errNoToken
	defer func() { s.landFetch(flight, err) }() // also when the source leaves its goroutine
	flight.token, err = s.ep.tokens.source(ctx)
	switch {
	case err != nil:
	case flight.token.IsZero():
		err = errNoToken
	default:
		err = flight.token.fits(s.local, s.peer.peer)
	}
}

// Renewal of a token.
const (
	tokenMargin = 30 * time.Second // before it expires
	tokenRetry  = time.Second      // after the source failed
)

// landFetch puts what the source returned into the purse.
func (s *Session) landFetch(flight *tokenFlight, err error) {
	if err != nil {
		s.log.Warn("the source of capability tokens failed")
		flight.token = Token{}
		flight.reject = spoke.Rejectf(spoke.CodeInternalError, "no capability token").
			WithKind(spoke.KindTokenInvalid).WithCause(err)
	}
	s.purse.mu.Lock()
	s.purse.settle(flight.token, s.ep.now())
	s.purse.mu.Unlock()
	close(flight.done)
}

// settle ends a call of the source; a zero token says that it failed.
func (p *purse) settle(token Token, now time.Time) {
	p.flight = nil
	switch {
	case !token.IsZero():
		p.token = token
		p.renew = token.claims.Expires.Add(-min(tokenMargin, token.claims.Expires.Sub(now)/2))
	case now.Before(p.token.claims.Expires):
		p.renew = now.Add(tokenRetry)
	default:
		p.renew = now
	}
}
