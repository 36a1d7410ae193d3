package connect

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// read reads frames until one is a request for a handler. It is the session's one
// reader: it owns the inbound counter and never waits for a handler or for a write. To
// run a handler it starts its successor and is the reader no more, so a short handler
// costs no switch to another goroutine.
//
// An idle session waits in here, so its locals stand in handle: with a small frame the
// runtime can halve the goroutine's stack to 4 KiB.
func (s *Session) read() {
	for s.handle(s.transport.Recv(s.ctx)) || s.awaitLead() {
	}
}

// handle takes what Recv returned, false when this goroutine is not the reader any more.
func (s *Session) handle(frame []byte, err error) bool {
	if err != nil {
		s.end(fmt.Errorf("transport: %w", err))
		return false
	}
	if s.ctx.Err() != nil {
		return false // a transport may still hand out what came before it was closed
	}
	r, err := s.receive(frame)
	if err != nil {
		s.end(err)
		return false
	}
	if r.size == 0 {
		return true
	}
	if !s.passLead() {
		s.serving.leave(r.size)
		return false
	}
	if s.backlog != nil && s.backlog() {
		// The next reader has work and runs on this processor when this goroutine stops:
		// let it run now, and another processor take up the handler. A network's poller
		// spreads the work by itself.
		runtime.Gosched()
	}
	s.answer(&r)
	return false
}

// receive handles one frame, and returns the request that a handler has to serve, the
// zero one if there is none. An error ends the session.
//
// Source: wire spec, section 1.
func (s *Session) receive(frame []byte) (r request, err error) {
	if most := s.ep.Limits.FrameBytes; len(frame) > most {
		return r, fmt.Errorf("%w: %d bytes, at most %d allowed", ErrMalformedFrame, len(frame), most)
	}
	e := envelopes.get()
	err = parseEnvelope(e, frame, s.ep.Limits.Depth)
	if err != nil && !errors.Is(err, jcs.ErrNotObject) {
		return r, fmt.Errorf("%w: %w", ErrMalformedFrame, err)
	}
	e.own = frame
	switch classify(e) {
	case requestFrame:
		r = s.receiveRequest(e, len(frame))
	case responseFrame:
		if s.receiveResponse(e) {
			return r, nil // who waits for it puts the envelope back
		}
	default:
		if s.receiveAuth(frame) {
			break
		}
		s.missed()
		s.ignored.log(func(n uint64) { s.log.Debug("ignored a frame that is no envelope", "count", n) })
	}
	envelopes.put(e)
	return r, nil
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
func (s *Session) receiveRequest(e *envelope, size int) (r request) {
	sequence, _ := e.integer(fieldSequence)
	if sequence != s.inbound {
		s.missed()
		s.deny(e, wireError(spoke.WireInvalidSequence, "expected sequence %d, got %d", s.inbound, sequence))
		return r
	}
	if kind := e.verifyBound(signedRequest, s.key, s.id); kind != "" {
		s.missed()
		s.deny(e, authFailed(kind, authMessages[kind]))
		return r
	}
	s.inbound++
	s.possess.prove()
	return s.admit(e, size)
}

// receiveResponse hands a response to the invoke that waits for it, false if none does.
// That invoke judges it on its own goroutine: a response needs no order.
func (s *Session) receiveResponse(e *envelope) bool {
	w, last := s.takeWaiter(requestIDOf(e.bytesOf(fieldRequestID)))
	if s.owed.Add(-1); w == nil {
		s.answeredLate()
		s.lateness.log(func(n uint64) { s.log.Debug("dropped an answer that nobody waits for", "count", n) })
		return false
	}
	s.misses = 0
	w.answer <- answer{envelope: e}
	if last {
		// Nothing else is expected: let the invoke go on before this goroutine asks the
		// transport in vain.
		runtime.Gosched()
	}
	return true
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
