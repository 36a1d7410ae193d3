package connect

import (
	"context"
	"encoding/json"
)

// SetOutboundSequence moves the session's outbound counter, which no test could reach
// by counting.
func SetOutboundSequence(s *Session, n uint64) {
	s.out.slot <- struct{}{}
	s.out.sequence = n
	<-s.out.slot
}

// MaxSequence is the largest sequence.
const MaxSequence = maxSequence

// WaiterCount returns how many invokes the session holds a place for.
func WaiterCount(s *Session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiters.byID)
}

// ServePort serves one port outside of any session.
func ServePort(ctx context.Context, op string, provider any, payload json.RawMessage) error {
	handle, ok := portOps[op].handler(provider)
	if !ok {
		return errHandler
	}
	_, err := handle(ctx, payload)
	return err
}

// KnownTokens returns how many verified tokens the session remembers. Nothing may be
// under way.
func KnownTokens(s *Session) int { return len(s.gate.known.known) }

// RoutedCount returns how many peers the router holds in memory.
func RoutedCount(r *Router) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.peers)
}

// InFlight returns how many calls of the router are under way.
func InFlight(r *Router) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, p := range r.peers {
		n += p.inFlight
	}
	return n
}

// LastTurn returns the turn at which the router chose a peer last.
func LastTurn(r *Router, id PeerID) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peers[r.index(id)].chosen
}

const BusyRequests = busyRequests

// LeadIsAwaited reports whether a goroutine of the session waits to become its reader.
func LeadIsAwaited(s *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lead.waits
}

// StopReminder stops a session's reminder and reports whether it was still to come.
func StopReminder(s *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reminder != nil && s.reminder.Stop()
}
