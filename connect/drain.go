package connect

import "context"

// Shutdown is a [Session.Close] that waits: the peer's requests that are being served
// and the invokes of this side that wait finish first, and new requests are answered
// with kind overloaded meanwhile. It returns nil when the session is over and has said
// goodbye. When ctx ends first, the session is closed at once and ctx's error is returned.
// A handler must not call it on its own session: it would wait for itself.
func (s *Session) Shutdown(ctx context.Context) error {
	s.drain(nil)
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.Wait()
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		s.Close()
		return ctx.Err()
	}
}

// drain ends the session for cause, nil when it is this side's wish alone, as soon as it
// is idle: nothing is served, no invoke of ours is under way and no reply waits to be
// written. Until then the peer's new requests are refused, and invokes of ours work.
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

// atRest reports whether nothing is served and nothing invoked.
func (s *Session) atRest() bool {
	return s.serving.count.Load() == 0 && s.calling.Load() == 0
}

func (s *Session) idle() bool {
	if !s.atRest() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replies.count == 0
}
