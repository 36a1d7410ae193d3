package connect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Spread is how a [Router] chooses among peers that are equally good. Whatever it is,
// the hard filters and the preferred role come first.
type Spread int

const (
	// LowestPeerID is the protocol's rule: the same peers and the same request always
	// select the same peer. The zero value.
	LowestPeerID Spread = iota
	// RoundRobin takes the peer that was chosen longest ago.
	RoundRobin
	// LeastInFlight takes the peer with the fewest calls of this router under way, and
	// of those the one that was chosen longest ago.
	LeastInFlight
)

// livePeer is a registered peer whose session is up.
type livePeer struct {
	*routed
	session *Session
}

// live returns the peers whose sessions are up, in the order of their registration.
func (r *Router) live() []livePeer {
	r.mu.Lock()
	r.forget()
	peers := slices.Clone(r.peers)
	r.mu.Unlock()
	up := make([]livePeer, 0, len(peers))
	for _, p := range peers {
		if session := p.CurrentSession(); session != nil {
			up = append(up, livePeer{p, session})
		}
	}
	return up
}

// route calls the peer that fits, and on a fault another, if that is allowed.
func (r *Router) route(ctx context.Context, op string, payload json.RawMessage, call func(*Session) (json.RawMessage, error)) (json.RawMessage, error) {
	want, reject := demandOf(op, payload, r.cfg.Ops)
	if reject != nil {
		return nil, reject
	}
	up := r.live()
	chosen, reject := r.choose(want, up)
	if reject != nil {
		return nil, reject
	}
	for retries := r.cfg.Retries; ; retries-- {
		answer, err := call(chosen.session)
		r.leave(chosen)
		if retries <= 0 || ctx.Err() != nil || !mayRepeat(op, chosen.session, err) {
			return answer, err
		}
		up = slices.DeleteFunc(up, func(p livePeer) bool {
			return p.id == chosen.id || p.session.State() != Established || !idempotent(op, p.session)
		})
		if chosen, reject = r.choose(want, up); reject != nil {
			return nil, err
		}
	}
}

// choose selects a peer and counts the call.
func (r *Router) choose(want demand, up []livePeer) (livePeer, *spoke.Reject) {
	candidates := make([]Candidate, len(up))
	for i, p := range up {
		candidates[i] = Candidate{p.id, p.session.peer.manifest()}
	}
	equals, reject := want.eligible(candidates)
	if reject != nil {
		return livePeer{}, reject
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	chosen := up[equals[0]]
	for _, i := range equals[1:] {
		if r.cfg.Spread.before(up[i].routed, chosen.routed) {
			chosen = up[i]
		}
	}
	r.turn++
	chosen.chosen = r.turn
	chosen.inFlight++
	return chosen, nil
}

// before reports whether a is to be taken before b, which has the lower peer id.
func (s Spread) before(a, b *routed) bool {
	switch {
	case s == LeastInFlight && a.inFlight != b.inFlight:
		return a.inFlight < b.inFlight
	case s == RoundRobin || s == LeastInFlight:
		return a.chosen < b.chosen
	}
	return false
}

func (r *Router) leave(p livePeer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.inFlight--
}

// mayRepeat reports whether a call of op failed because its session ended under it, and
// calling twice is as good as calling once.
func mayRepeat(op string, session *Session, err error) bool {
	reject, ok := errors.AsType[*spoke.Reject](err)
	return ok && !reject.Remote() && errors.Is(err, ErrSessionClosed) && idempotent(op, session)
}

// idempotent reports whether op is a tool of the peer's whose descriptor says so.
func idempotent(op string, session *Session) bool {
	return strings.HasPrefix(op, toolPrefix) &&
		slices.ContainsFunc(session.RemoteTools(), func(d spoke.ToolDescriptor) bool {
			return d.CapabilityID == op && d.Idempotent != nil && *d.Idempotent
		})
}
