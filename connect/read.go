package connect

import (
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// read is the session's one reader. It owns the inbound counter and never waits for
// a handler or for a write.
//
// An idle session waits in here, so its locals stand in handle: with a small frame the
// runtime can halve the goroutine's stack to 4 KiB.
func (s *Session) read() {
	for s.handle(s.transport.Recv(s.ctx)) {
	}
}

// handle takes what Recv returned, false when the session has ended.
func (s *Session) handle(frame []byte, err error) bool {
	switch {
	case err != nil:
		err = fmt.Errorf("transport: %w", err)
	case s.ctx.Err() != nil:
		return false // a transport may still hand out what came before it was closed
	default:
		err = s.receive(frame)
	}
	if err != nil {
		s.end(err)
	}
	return err == nil
}

// receive handles one frame. An error ends the session.
//
// Source: wire spec, section 1.
func (s *Session) receive(frame []byte) error {
	if most := s.ep.Limits.FrameBytes; len(frame) > most {
		return fmt.Errorf("%w: %d bytes, at most %d allowed", ErrMalformedFrame, len(frame), most)
	}
	e := new(envelope)
	err := parseEnvelope(e, frame, s.ep.Limits.Depth)
	if err != nil && !errors.Is(err, jcs.ErrNotObject) {
		return fmt.Errorf("%w: %w", ErrMalformedFrame, err)
	}
	switch classify(e) {
	case requestFrame:
		s.receiveRequest(e, len(frame))
	case responseFrame:
		s.receiveResponse(e)
	default:
		if s.receiveAuth(frame) {
			break
		}
		s.missed()
		s.ignored.log(func(n uint64) { s.log.Debug("ignored a frame that is no envelope", "count", n) })
	}
	return nil
}

// frameClass is what a frame is by its shape.
type frameClass int

const (
	otherFrame frameClass = iota
	requestFrame
	responseFrame
)

// classify tells the class of a frame, request first.
//
// Source: wire spec, section 1.
func classify(e *envelope) frameClass {
	if !e.present.has(correlation) || !wellFormedCorrelation(e) {
		return otherFrame
	}
	hasOp := e.present.has(fields(fieldOp))
	switch {
	case hasOp && e.present.has(fields(fieldPayload)):
		if e.textFits(fieldOp, maxOpLength) {
			return requestFrame
		}
	case !hasOp && e.present&fields(fieldPayload, fieldError) != 0:
		return responseFrame
	}
	return otherFrame
}

func wellFormedCorrelation(e *envelope) bool {
	_, sequenceOK := e.integer(fieldSequence)
	return sequenceOK && e.textFits(fieldSessionID, maxIDLength) && e.textFits(fieldRequestID, maxIDLength)
}

// receiveRequest is steps 1 to 3 of serving: peek, verify, advance. They run on the
// reader, so they are atomic and in arrival order.
//
// Source: wire spec, section 5.
func (s *Session) receiveRequest(e *envelope, size int) {
	sequence, _ := e.integer(fieldSequence)
	if sequence != s.inbound {
		s.missed()
		s.deny(e, wireError(spoke.WireInvalidSequence, "expected sequence %d, got %d", s.inbound, sequence))
		return
	}
	if kind := e.verifyBound(signedRequest, s.key, s.id); kind != "" {
		s.missed()
		s.deny(e, authFailed(kind, authMessages[kind]))
		return
	}
	s.inbound++
	s.possess.prove()
	s.serve(e, size)
}

// receiveResponse hands a response to the invoke that waits for it. That invoke
// judges it on its own goroutine: a response needs no order.
func (s *Session) receiveResponse(e *envelope) {
	requestID, _ := e.text(fieldRequestID)
	w := s.takeWaiter(requestID)
	if s.owed.Add(-1); w == nil {
		s.answeredLate()
		s.lateness.log(func(n uint64) { s.log.Debug("dropped an answer that nobody waits for", "count", n) })
		return
	}
	s.misses = 0
	w.answer <- answer{envelope: e}
}

// wireError is a failure whose code exists on the wire only.
func wireError(code, format string, args ...any) spoke.ErrorEnvelope {
	return spoke.ErrorEnvelope{Code: code, Message: fmt.Sprintf(format, args...)}
}

// authFailed is the failure of an envelope or a token that does not verify.
func authFailed(kind, message string) spoke.ErrorEnvelope {
	failure := wireError(spoke.WireAuthFailed, "%s", message)
	failure.Details = map[string]any{spoke.DetailKind: kind}
	return failure
}

// isAuthKind reports whether kind is a failure to verify an envelope.
func isAuthKind(kind string) bool {
	switch kind {
	case spoke.KindEnvelopeAuthMissing, spoke.KindEnvelopeAuthInvalid, spoke.KindEnvelopeAuthSessionUnbound:
		return true
	}
	return false
}
