package connect

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
