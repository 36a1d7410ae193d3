package connect

// drain ends the session for cause as soon as it is idle: nothing is served, no invoke
// of ours is under way and no reply waits to be written. Until then the peer's new
// requests are refused, and invokes of ours work.
func (s *Session) drain(cause error) {
	s.draining.CompareAndSwap(nil, &cause)
	s.endIfDrained()
}

// endIfDrained is called after everything that can leave the session idle.
func (s *Session) endIfDrained() {
	if cause := s.draining.Load(); cause != nil && s.idle() {
		s.end(*cause)
	}
}

func (s *Session) idle() bool {
	if s.serving.count.Load() > 0 || s.calling.Load() > 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replies.count == 0
}
