package connect

import "time"

// lead is the right to read from the transport. The goroutine that has it is the
// session's reader; before it serves a request it passes the lead on. On a busy session,
// who has served waits for the lead if nobody else does, so that not every request needs a
// new goroutine, whose stack has to grow. The session's mu guards it.
type lead struct {
	since  time.Time // when the counting of requests began
	served int       // requests since then
	busy   bool      // there were many in the second before

	next   chan bool // true is the lead, false sends away who waits; nil until someone waits
	waits  bool      // a goroutine waits at next
	passed bool      // to one who waited, since the last look
	look   *time.Timer
}

const (
	// A session is busy from so many requests within a second on. With fewer, a stack that
	// grows costs less than one that has left the processor's caches.
	busyRequests = 50
	busySpan     = time.Second

	// leadPatience is after how long without a request nobody waits for the lead any
	// more: at most twice as long.
	leadPatience = time.Second
)

// passLead makes another goroutine the reader, false once the session has ended.
func (s *Session) passLead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch l := &s.lead; {
	case s.ended:
		return false
	case l.waits:
		l.waits, l.passed = false, true
		l.next <- true
	default:
		s.running.Go(s.read)
	}
	return true
}

// awaitLead waits until the caller is the reader again, false if it will not be.
func (s *Session) awaitLead() bool {
	next := s.joinLead()
	if next == nil {
		return false
	}
	select {
	case leads := <-next:
		return leads
	case <-s.ctx.Done():
		return false
	}
}

// joinLead makes the caller the one who waits, nil if there is one or the session is not
// busy.
func (s *Session) joinLead() <-chan bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.lead
	if busy := l.count(now); !busy || s.ended || l.waits {
		return nil
	}
	if l.next == nil {
		l.next = make(chan bool, 2) // one of each kind
		l.look = time.AfterFunc(leadPatience, s.lookAtLead)
	} else if !l.passed {
		l.look.Reset(leadPatience)
	}
	l.waits = true
	return l.next
}

// count counts a request and reports whether the session is busy.
func (l *lead) count(now time.Time) bool {
	if span := now.Sub(l.since); span > busySpan {
		l.busy = l.served >= busyRequests && span < 2*busySpan
		l.since, l.served = now, 0
	}
	l.served++
	return l.busy || l.served >= busyRequests
}

// lookAtLead sends away who has waited for nothing.
func (s *Session) lookAtLead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.lead
	switch {
	case s.ended || !l.waits && !l.passed:
	case l.passed:
		l.passed = false
		l.look.Reset(leadPatience)
	default:
		select {
		case l.next <- false:
			l.waits = false
		default: // others are on their way
			l.look.Reset(leadPatience)
		}
	}
}

// stop ends the looking; the session has ended.
func (l *lead) stop() {
	if l.look != nil {
		l.look.Stop()
	}
}
