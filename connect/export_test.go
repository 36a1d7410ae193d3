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
	return len(s.waiters)
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
func KnownTokens(s *Session) int { return len(s.gate.known) }
