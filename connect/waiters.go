package connect

import (
	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/spoke"
)

// requestID is the text of a UUID.
type requestID [36]byte

func newRequestID() requestID { return requestID([]byte(uuid.NewString())) }

// requestIDOf returns text as a request id of ours; the zero id, which none is, if it
// cannot be one.
func requestIDOf(text []byte) (id requestID) {
	if len(text) == len(id) {
		copy(id[:], text)
	}
	return id
}

// waiter is an invoke that waits for its answer.
type waiter struct {
	id       requestID
	sequence uint64
	answer   chan answer // capacity 1; who took the waiter sends, and never waits
}

// answer is what a waiter gets: a response that nobody judged yet, or a fault.
type answer struct {
	envelope *envelope
	fault    *spoke.Reject
}

// maxIdleWaiters is how many waiters a session keeps for later invokes.
const maxIdleWaiters = 64

// waiters are the invokes that wait, and some waiters to use again. The session's mu
// guards them. The zero value has none.
type waiters struct {
	byID map[requestID]*waiter
	idle []*waiter // their channels are empty
}

// addWaiter makes an invoke known to the reader and counts its write as running, nil once
// the session has ended.
func (s *Session) addWaiter(id requestID, sequence uint64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.running.Add(1)
	var w *waiter
	if last := len(s.waiters.idle) - 1; last >= 0 {
		w = s.waiters.idle[last]
		s.waiters.idle[last], s.waiters.idle = nil, s.waiters.idle[:last]
	} else {
		w = &waiter{answer: make(chan answer, 1)}
	}
	w.id, w.sequence = id, sequence
	if s.waiters.byID == nil {
		s.waiters.byID = make(map[requestID]*waiter)
	}
	s.waiters.byID[id] = w
	return w
}

// takeWaiter removes and returns a waiter, nil if there is none: an answer settles
// its invoke once. Last reports whether none is left.
func (s *Session) takeWaiter(id requestID) (w *waiter, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w = s.waiters.byID[id]
	delete(s.waiters.byID, id)
	return w, len(s.waiters.byID) == 0
}

// recycle keeps a waiter that was taken and whose channel is empty for a later invoke.
func (s *Session) recycle(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiters.idle) < maxIdleWaiters {
		s.waiters.idle = append(s.waiters.idle, w)
	}
}
