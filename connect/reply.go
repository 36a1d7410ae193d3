package connect

import (
	"bytes"
	"slices"
)

// echo is what a response repeats of its request, canonical.
type echo struct{ requestID, sequence []byte }

// echoOf returns the correlation of a request that was classified. It aliases the frame.
func echoOf(e *envelope) echo {
	canonical := func(f field) []byte {
		_ = e.values[f].Canonicalize() // it was parsed; it cannot fail
		return e.values[f].Value
	}
	return echo{canonical(fieldRequestID), canonical(fieldSequence)}
}

// clone returns an echo that keeps no other memory of the frame.
func (o echo) clone() echo { return echo{bytes.Clone(o.requestID), bytes.Clone(o.sequence)} }

// body is what a response carries: a payload or an error.
type body struct {
	shape fieldSet
	content
}

// member is the member of the response that the content is.
func (b body) member() field {
	if b.shape == signedFailure {
		return fieldError
	}
	return fieldPayload
}

// reply sends a handler's answer from the handler's goroutine.
func (s *Session) reply(to echo, b body) {
	size := b.size() + denialBytes
	verdict := s.awaitRoom(size)
	if verdict == noRoom && s.ctx.Err() == nil {
		b = s.failureBody(resultReject(errCrowded))
		size = denialBytes
		verdict = s.awaitRoom(size)
	}
	switch verdict {
	case admitted:
		s.writeReply(to, b)
		s.dismissReply(size)
	case tooMany:
		s.endUnread()
	}
}

// writeReply writes a response in its turn. It is signed then, so that what waits takes
// no second copy.
func (s *Session) writeReply(to echo, b body) {
	if !s.takeTurn() {
		return
	}
	defer s.freeSlot()
	buf := signBuffers.get()
	defer signBuffers.put(buf)
	*buf = s.responseFrame((*buf)[:0], to, b)
	s.writeOrEnd(*buf)
}

// responseFrame appends a signed response to dst. It always carries this session's own
// id.
//
// Source: wire spec, section 5.
func (s *Session) responseFrame(dst []byte, to echo, b body) []byte {
	d := newDraft(slices.Grow(dst, b.size()+denialBytes))
	d.content(b.member(), b.content)
	d.json(fieldRequestID, to.requestID)
	d.json(fieldSequence, to.sequence)
	d.json(fieldSessionID, s.quotedID)
	return d.seal(s.ep.Identity)
}
