package connect

import (
	"bytes"
	"fmt"

	"github.com/spoke-peer/spoke-go/internal/jcs"
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

// body is what a response carries: a payload or an error, canonical.
type body struct {
	shape fieldSet
	json  []byte
}

// reply sends a handler's answer from the handler's goroutine.
func (s *Session) reply(to echo, b body) {
	size := len(b.json) + denialBytes
	verdict := s.awaitRoom(size)
	if verdict == noRoom && s.ctx.Err() == nil {
		b = s.failureBody(resultReject(errCrowded))
		size = denialBytes
		verdict = s.awaitRoom(size)
	}
	switch verdict {
	case admitted:
		s.writeReply(to, b.shape, b.json)
		s.dismissReply(size)
	case tooMany:
		s.endUnread()
	}
}

// writeReply signs a response and writes it when the slot is free; what waits is not
// signed yet and takes no second copy. Nobody waits for it: a failed write ends the
// session, which is all there is to do. A session that has ended says no more.
func (s *Session) writeReply(to echo, shape fieldSet, json []byte) {
	select {
	case s.out.slot <- struct{}{}:
		defer s.freeSlot()
	case <-s.ctx.Done():
		return
	}
	buf := signBuffers.get()
	defer signBuffers.put(buf)
	var err error
	if *buf, err = s.responseFrame((*buf)[:0], to, shape, json); err != nil {
		s.end(fmt.Errorf("sign a response: %w", err))
		return
	}
	if err := s.write(*buf); err != nil {
		s.endBroken(err)
	}
}

// responseFrame returns a signed response. It always carries this session's own id.
//
// Source: wire spec, section 5.
func (s *Session) responseFrame(dst []byte, to echo, shape fieldSet, json []byte) ([]byte, error) {
	var e envelope
	if err := e.setText(fieldSessionID, s.id); err != nil {
		return dst, err
	}
	e.set(fieldSequence, to.sequence)
	e.set(fieldRequestID, to.requestID)
	if shape == signedSuccess {
		e.set(fieldPayload, jcs.Literal(json))
	} else {
		e.set(fieldError, jcs.Literal(json))
	}
	return e.seal(dst, shape, s.ep.Identity)
}
