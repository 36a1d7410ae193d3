package connect

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spoke-peer/spoke-go/spoke"
)

// replyQueue counts the replies that wait to be written, and holds those that no
// handler's goroutine waits with. The session's mu guards it.
//
// Source: wire spec, section 5.
type replyQueue struct {
	count, bytes int
	crowd        int           // bytes of answers that wait for room
	room         chan struct{} // closed when there is more room; nil when nobody waits
	denials      []denial
	draining     bool
}

// denial is a failure that the reader answers without a handler.
type denial struct {
	echo    echo
	failure spoke.ErrorEnvelope
}

// denialBytes is what one queued denial counts for, and what an answer counts for
// beside its body.
const denialBytes = 1 << 10

// crowdFactor is how many times PendingReplyBytes may wait for room.
const crowdFactor = 3

// admission is what becomes of a reply that wants to wait.
type admission int

const (
	admitted admission = iota
	noRoom             // its bytes do not fit now
	tooMany            // the peer sends and does not read
)

// admit counts one more waiting reply if it fits. Denials are bounded by their number,
// answers by their bytes as well.
func (q *replyQueue) admit(size int, most *Limits) admission {
	if q.count >= most.PendingReplies {
		return tooMany
	}
	if size > denialBytes && q.bytes > 0 && q.bytes+size > most.PendingReplyBytes {
		return noRoom
	}
	q.count++
	q.bytes += size
	return admitted
}

func (s *Session) dismissReply(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.replies
	q.count--
	q.bytes -= size
	s.ep.Metrics.RepliesQueued(-1)
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// awaitRoom admits a handler's answer, if need be after others were written. It runs
// on the handler's goroutine. NoRoom means that too much waits already.
func (s *Session) awaitRoom(size int) admission {
	for {
		verdict, room := s.admitOrJoin(size)
		if room == nil {
			return verdict
		}
		select {
		case <-room:
		case <-s.ctx.Done():
		}
		s.leaveCrowd(size)
		if s.ctx.Err() != nil {
			return noRoom
		}
	}
}

// admitOrJoin returns a channel to wait on when the answer has to wait for room.
func (s *Session) admitOrJoin(size int) (admission, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.replies
	verdict := q.admit(size, &s.ep.Limits)
	if verdict == admitted {
		s.ep.Metrics.RepliesQueued(1)
	}
	if verdict != noRoom || !q.crowdTakes(size, crowdFactor, &s.ep.Limits) {
		return verdict, nil
	}
	q.crowd += size
	if q.room == nil {
		q.room = make(chan struct{})
	}
	return verdict, q.room
}

func (s *Session) leaveCrowd(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies.crowd -= size
}

// endUnread ends the session of a peer that sends and does not read.
func (s *Session) endUnread() {
	s.end(fmt.Errorf("%w: more than %d replies wait", ErrPeerNotReading, s.ep.Limits.PendingReplies))
}

// repliesPileUp reports whether so much waits for room that the answer to a new request
// may not fit. To run its handler first would be work for nothing.
func (s *Session) repliesPileUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.replies.crowdTakes(0, crowdFactor-1, &s.ep.Limits)
}

// crowdTakes reports whether so many bytes more may wait for room, when factor times
// PendingReplyBytes may. The product can be larger than an int.
func (q *replyQueue) crowdTakes(size, factor int, most *Limits) bool {
	return (q.crowd+size-1)/factor < most.PendingReplyBytes
}

// deny queues a failure for the request in e. It never waits.
func (s *Session) deny(e *envelope, failure spoke.ErrorEnvelope) {
	op, _ := e.text(fieldOp)
	s.ep.Metrics.Served(s.opLabel(op), failure.Code, 0)
	s.denied.log(func(n uint64) {
		s.log.Log(context.Background(), deniedLevel(failure.Code), "denied a request",
			"op", op, "code", failure.Code, "kind", failure.Details[spoke.DetailKind], "count", n)
	})
	if s.queueDenial(denial{echoOf(e).clone(), failure}) == tooMany {
		s.endUnread()
	}
}

// deniedLevel is how loud a denial is: an honest peer asks for what is not served, but
// does not lose count or sign wrongly.
func deniedLevel(code string) slog.Level {
	if code == spoke.WireInvalidSequence || code == spoke.WireAuthFailed {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func (s *Session) queueDenial(d denial) admission {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return admitted
	}
	if s.draining.Load() != nil && s.atRest() {
		return admitted // who goes on asking does not keep the session from its end
	}
	if verdict := s.replies.admit(denialBytes, &s.ep.Limits); verdict != admitted {
		return verdict
	}
	s.ep.Metrics.RepliesQueued(1)
	s.replies.denials = append(s.replies.denials, d)
	if !s.replies.draining {
		s.replies.draining = true
		s.running.Go(s.drainDenials)
	}
	return admitted
}

// drainDenials signs and writes queued denials until none is left.
func (s *Session) drainDenials() {
	for {
		d, ok := s.nextDenial()
		if !ok {
			s.endIfDrained()
			return
		}
		s.writeReply(d.echo, body{signedFailure, content{json: s.failureJSON(d.failure)}})
		s.dismissReply(denialBytes)
	}
}

func (s *Session) nextDenial() (denial, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.replies
	if len(q.denials) == 0 || s.ended {
		if dropped := len(q.denials); dropped > 0 {
			s.ep.Metrics.RepliesQueued(-dropped)
		}
		q.draining, q.denials = false, nil
		return denial{}, false
	}
	d := q.denials[0]
	q.denials[0] = denial{}
	q.denials = q.denials[1:]
	return d, true
}
