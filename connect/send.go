package connect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// outbound is the one send slot of a session. Who holds the slot allocates the
// sequence, signs and writes; the counter moves after the write succeeded. So the
// order on the wire is the order of allocation, and who gives up waiting for the slot
// leaves no gap.
//
// Source: wire spec, section 5.
type outbound struct {
	slot     chan struct{} // holds one token while somebody sends
	sequence uint64        // next of ours; guarded by the slot
	deadline *time.Timer   // ends the session when a write takes too long
}

func (o *outbound) init(s *Session) {
	o.slot = make(chan struct{}, 1)
	o.deadline = time.AfterFunc(s.ep.WriteTimeout, func() {
		s.end(fmt.Errorf("%w: a write took longer than %v", ErrPeerNotReading, s.ep.WriteTimeout))
	})
	o.deadline.Stop()
}

// write sends one frame; the caller holds the slot. No caller's context is asked: it
// bounds waiting, never a frame. After an error the caller ends the session. An error
// that is only the echo of a session that had ended already is [ErrSessionClosed].
func (s *Session) write(frame []byte) error {
	if s.ctx.Err() != nil {
		return ErrSessionClosed
	}
	s.out.deadline.Reset(s.ep.WriteTimeout)
	err := s.transport.Send(s.ctx, frame)
	s.out.deadline.Stop()
	if err != nil && s.ctx.Err() != nil {
		return ErrSessionClosed
	}
	return err
}

// endBroken ends the session after a write that failed.
func (s *Session) endBroken(err error) { s.end(fmt.Errorf("transport: %w", err)) }

// writeInTurn writes a frame that carries no sequence when the slot is free. Build
// appends it to a buffer then, so that what waits takes no second copy. Nobody waits for
// the write: one that fails ends the session, which is all there is to do. A session that
// has ended says no more.
func (s *Session) writeInTurn(build func(dst []byte) ([]byte, error)) {
	select {
	case s.out.slot <- struct{}{}:
		defer s.freeSlot()
	case <-s.ctx.Done():
		return
	}
	buf := signBuffers.get()
	defer signBuffers.put(buf)
	var err error
	if *buf, err = build((*buf)[:0]); err != nil {
		s.end(fmt.Errorf("build a frame: %w", err))
		return
	}
	if err := s.write(*buf); err != nil {
		s.endBroken(err)
	}
}

func (s *Session) freeSlot() { <-s.out.slot }

// sendRequest allocates a sequence and signs one request, and returns the waiter for
// its answer. A goroutine of the session writes it, so that a write which is stuck
// does not hold the caller.
func (s *Session) sendRequest(p *patience, payload []byte) (*waiter, *spoke.Reject) {
	select {
	case s.out.slot <- struct{}{}:
	case <-p.ctx.Done():
		return nil, s.gaveUp(p)
	case <-p.expired:
		return nil, s.gaveUp(p)
	case <-s.ctx.Done():
		return nil, s.gaveUp(p)
	}
	buf := signBuffers.get()
	w, reject := s.prepareRequest(buf, p, payload)
	if reject == nil {
		s.addWaiter(w) // before the caller can give up, and before an answer can come
		s.owed.Add(1)
		if s.run(func() { s.transmit(w, buf) }) {
			return w, nil
		}
		s.takeWaiter(w.requestID)
		reject = s.closedReject()
	}
	signBuffers.put(buf)
	s.freeSlot()
	return nil, reject
}

// prepareRequest signs a request at the next sequence into buf; the caller holds the
// slot.
func (s *Session) prepareRequest(buf *[]byte, p *patience, payload []byte) (*waiter, *spoke.Reject) {
	if s.ctx.Err() != nil {
		return nil, s.closedReject()
	}
	if s.out.sequence > maxSequence {
		s.end(ErrSequenceExhausted)
		return nil, s.closedReject().WithKind(spoke.KindSequenceExhausted)
	}
	requestID := uuid.NewString()
	var err error
	if *buf, err = s.requestFrame((*buf)[:0], requestID, p, payload); err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "%w", err)
	}
	if most := s.ep.Limits.FrameBytes; len(*buf) > most {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "the request to %s takes %d bytes, at most %d fit a frame", p.op, len(*buf), most)
	}
	return &waiter{requestID: requestID, op: p.op, sequence: s.out.sequence, answer: make(chan answer, 1)}, nil
}

// transmit writes a prepared request, moves the counter and frees the slot.
func (s *Session) transmit(w *waiter, buf *[]byte) {
	defer s.freeSlot()
	defer signBuffers.put(buf)
	err := s.write(*buf)
	if err == nil {
		s.out.sequence++
		return
	}
	if s.takeWaiter(w.requestID) != nil {
		w.answer <- answer{fault: s.writeFault(w.op, err)}
	}
	s.endBroken(err)
}

// writeFault is what the caller of a request that was not written sees. The text of
// the transport's error stays on this side.
func (s *Session) writeFault(op string, err error) *spoke.Reject {
	if errors.Is(err, ErrSessionClosed) {
		return s.closedReject()
	}
	return transportReject("the request to %s could not be written", op).WithCause(errors.Join(ErrSessionClosed, err))
}

func (s *Session) requestFrame(dst []byte, requestID string, p *patience, payload []byte) ([]byte, error) {
	var e envelope
	err := errors.Join(
		e.setText(fieldSessionID, s.id),
		e.setText(fieldRequestID, requestID),
		e.setText(fieldOp, p.op),
	)
	if err != nil {
		return dst, err
	}
	e.setNumber(fieldSequence, s.out.sequence)
	e.set(fieldPayload, jcs.Literal(payload))
	if p.auth != nil {
		e.set(fieldAuth, jcs.Literal(p.auth))
	}
	return e.seal(dst, signedRequest, s.ep.Identity)
}

// patience is how long one invoke may take: the caller's context and the invoke
// timeout.
type patience struct {
	ctx      context.Context
	op       string
	auth     []byte    // the token that the request carries, if any; canonical
	deadline time.Time // zero when there is no timeout
	expired  <-chan time.Time
	timer    *time.Timer
}

func (s *Session) newPatience(ctx context.Context, op string) *patience {
	timeout := s.ep.InvokeTimeout
	if own, ok := ctx.Value(timeoutKey{}).(time.Duration); ok {
		timeout = own
	}
	return patienceOf(ctx, op, timeout)
}

// ownTimeout bounds what the session does by itself.
func (s *Session) ownTimeout() time.Duration {
	if s.ep.InvokeTimeout < 0 {
		return defaultInvokeTimeout
	}
	return s.ep.InvokeTimeout
}

func patienceOf(ctx context.Context, op string, timeout time.Duration) *patience {
	p := &patience{ctx: ctx, op: op}
	if timeout > 0 {
		p.deadline = time.Now().Add(timeout)
		p.timer = time.NewTimer(timeout)
		p.expired = p.timer.C
	}
	return p
}

// over reports whether the patience has ended.
func (p *patience) over() bool {
	return p.ctx.Err() != nil || !p.deadline.IsZero() && !time.Now().Before(p.deadline)
}

// gaveUp is what the caller sees when a wait ended without what it waited for. The end
// of the session comes first: a handler's context ends with it.
func (s *Session) gaveUp(p *patience) *spoke.Reject {
	switch {
	case s.ctx.Err() != nil:
		return s.closedReject()
	case p.ctx.Err() != nil:
		return contextReject(p.ctx, p.op)
	default:
		return timeoutReject(p.op)
	}
}

func (p *patience) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

type timeoutKey struct{}

// WithInvokeTimeout returns a context under which an invoke's timeout is timeout
// instead of Config.InvokeTimeout; negative means no bound beyond ctx, and zero means
// the default of 5s. A deadline of ctx itself counts as well; whichever is first
// fails the invoke with kind timeout.
func WithInvokeTimeout(ctx context.Context, timeout time.Duration) context.Context {
	defaultTo(&timeout, defaultInvokeTimeout)
	return context.WithValue(ctx, timeoutKey{}, timeout)
}
