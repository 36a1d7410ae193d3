package connect

import (
	"bytes"

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

// writeReply signs a response and writes it in its turn.
func (s *Session) writeReply(to echo, shape fieldSet, json []byte) {
	s.writeInTurn(func(dst []byte) ([]byte, error) { return s.responseFrame(dst, to, shape, json) })
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
