package connect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// echo is what a response repeats of its request. It keeps no other memory of the
// frame.
type echo struct{ sequence, requestID jcs.Member }

// echoOf copies the correlation of a request that was classified.
func echoOf(e *envelope) echo {
	clone := func(f field) jcs.Member {
		m := e.values[f]
		_ = m.Canonicalize() // it was parsed; it cannot fail
		return jcs.Literal(bytes.Clone(m.Value))
	}
	return echo{sequence: clone(fieldSequence), requestID: clone(fieldRequestID)}
}

// replyQueue counts the replies that wait to be written, and holds those that no
// handler's goroutine waits with.
type replyQueue struct {
	count, bytes int
	denials      []denial
	draining     bool
}

// denial is a failure that the reader answers without a handler.
type denial struct {
	echo    echo
	failure spoke.ErrorEnvelope
}

// denialBytes is what a failure without a body of its own counts for.
const denialBytes = 1 << 10

// admission is what becomes of a reply that wants to wait.
type admission int

const (
	admitted admission = iota
	tooLarge           // its bytes do not fit, a short failure would
	tooMany            // the peer sends and does not read
)

// admitReply counts one more waiting reply if it fits. Short failures are bounded by
// their number, bodies by their bytes as well. The caller holds mu.
//
// Source: wire spec, section 5.
func (s *Session) admitReply(size int) admission {
	q, most := &s.replies, &s.ep.Limits
	if q.count >= most.PendingReplies {
		return tooMany
	}
	if size > denialBytes && q.bytes > 0 && q.bytes+size > most.PendingReplyBytes {
		return tooLarge
	}
	q.count++
	q.bytes += size
	return admitted
}

// endUnread ends the session of a peer that sends and does not read.
func (s *Session) endUnread() {
	s.end(fmt.Errorf("%w: more than %d replies wait", ErrPeerNotReading, s.ep.Limits.PendingReplies))
}

func (s *Session) dismissReply(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies.count--
	s.replies.bytes -= size
}

// deny queues a failure for the request in e. It never waits.
func (s *Session) deny(e *envelope, failure spoke.ErrorEnvelope) {
	s.denied.log(func(n uint64) {
		s.log.Debug("denied a request", "code", failure.Code, "kind", failure.Details[spoke.DetailKind], "count", n)
	})
	if s.queueDenial(denial{echoOf(e), failure}) == tooMany {
		s.endUnread()
	}
}

func (s *Session) queueDenial(d denial) admission {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return admitted
	}
	if a := s.admitReply(denialBytes); a != admitted {
		return a
	}
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
			return
		}
		s.writeReply(d.echo, signedFailure, failureJSON(d.failure))
		s.dismissReply(denialBytes)
	}
}

func (s *Session) nextDenial() (denial, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.replies
	if len(q.denials) == 0 || s.ended {
		q.draining, q.denials = false, nil
		return denial{}, false
	}
	d := q.denials[0]
	q.denials[0] = denial{}
	q.denials = q.denials[1:]
	return d, true
}

// failureJSON returns the error member of a response, canonical. Details that cannot
// travel are left out.
func failureJSON(failure spoke.ErrorEnvelope) []byte {
	for {
		raw, err := json.Marshal(failure)
		if err == nil {
			raw, err = jcs.CanonicalExact(raw, 0)
		}
		if err == nil {
			return raw
		}
		if failure.Details == nil {
			return []byte(`{"code":"INTERNAL_ERROR","extensions":{},"message":"the error cannot be sent"}`)
		}
		failure.Details = nil
	}
}

// reply sends a handler's answer from the handler's goroutine. A body that does not
// fit beside those that wait already is replaced by a failure of kind overloaded.
func (s *Session) reply(to echo, shape fieldSet, body []byte) {
	size := len(body) + denialBytes
	s.mu.Lock()
	verdict := s.admitReply(size)
	if verdict == tooLarge {
		shape, body, size = signedFailure, failureJSON(overloaded("the answers that wait are too large")), denialBytes
		verdict = s.admitReply(size)
	}
	s.mu.Unlock()
	if verdict != admitted {
		s.endUnread()
		return
	}
	s.writeReply(to, shape, body)
	s.dismissReply(size)
}

// overloaded is the failure of a request that there is no room for.
func overloaded(message string) spoke.ErrorEnvelope {
	return spoke.Rejectf(spoke.CodeInternalError, "%s", message).WithKind(spoke.KindOverloaded).Envelope()
}

// writeReply signs a response and writes it when the slot is free. Nobody waits for
// it: a failed write ends the session, which is all there is to do.
func (s *Session) writeReply(to echo, shape fieldSet, body []byte) {
	buf := signBuffers.get()
	defer signBuffers.put(buf)
	var err error
	if *buf, err = s.responseFrame((*buf)[:0], to, shape, body); err != nil {
		s.end(fmt.Errorf("sign a response: %w", err))
		return
	}
	select {
	case s.out.slot <- struct{}{}:
		defer func() { <-s.out.slot }()
	case <-s.ctx.Done():
		return
	}
	if s.ctx.Err() == nil { // a session that was closed says no more
		_ = s.write(*buf)
	}
}

// responseFrame returns a signed response. It always carries this session's own id.
//
// Source: wire spec, section 5.
func (s *Session) responseFrame(dst []byte, to echo, shape fieldSet, body []byte) ([]byte, error) {
	var e envelope
	if err := e.setText(fieldSessionID, s.id); err != nil {
		return dst, err
	}
	e.set(fieldSequence, to.sequence)
	e.set(fieldRequestID, to.requestID)
	if shape == signedSuccess {
		e.set(fieldPayload, jcs.Literal(body))
	} else {
		e.set(fieldError, jcs.Literal(body))
	}
	return e.seal(dst, shape, s.ep.Identity)
}
