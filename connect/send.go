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

// write sends one frame; the caller holds the slot. The caller's context is not
// asked: it bounds waiting, never a frame. A failure ends the session.
func (s *Session) write(frame []byte) error {
	s.out.deadline.Reset(s.ep.WriteTimeout)
	err := s.transport.Send(s.ctx, frame)
	s.out.deadline.Stop()
	if err != nil {
		s.end(fmt.Errorf("transport: %w", err))
	}
	return err
}

// sendRequest allocates a sequence, signs and writes one request, and returns the
// waiter for its answer.
func (s *Session) sendRequest(p *patience, payload []byte) (*waiter, *spoke.Reject) {
	if reject := s.awaitSlot(p); reject != nil {
		return nil, reject
	}
	defer func() { <-s.out.slot }()
	if s.ctx.Err() != nil {
		return nil, s.closedReject()
	}
	if s.out.sequence > maxSequence {
		s.end(ErrSequenceExhausted)
		return nil, s.closedReject().WithKind(spoke.KindSequenceExhausted)
	}
	return s.writeRequest(p.op, payload)
}

func (s *Session) awaitSlot(p *patience) *spoke.Reject {
	select {
	case s.out.slot <- struct{}{}:
		return nil
	case <-p.ctx.Done():
		return contextReject(p.ctx, p.op)
	case <-p.expired:
		return timeoutReject(p.op)
	case <-s.ctx.Done():
		return s.closedReject()
	}
}

// writeRequest is the part of sendRequest that holds the slot.
func (s *Session) writeRequest(op string, payload []byte) (*waiter, *spoke.Reject) {
	requestID := uuid.NewString()
	buf := signBuffers.get()
	defer signBuffers.put(buf)
	var err error
	*buf, err = s.requestFrame((*buf)[:0], requestID, op, payload)
	if err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "%w", err)
	}
	if most := s.ep.Limits.FrameBytes; len(*buf) > most {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "the request to %s takes %d bytes, at most %d fit a frame", op, len(*buf), most)
	}
	w := s.addWaiter(requestID, s.out.sequence)
	if err := s.write(*buf); err != nil {
		s.takeWaiter(requestID)
		return nil, transportReject("send %s: %w", op, err).WithCause(errors.Join(ErrSessionClosed, err))
	}
	s.out.sequence++
	return w, nil
}

func (s *Session) requestFrame(dst []byte, requestID, op string, payload []byte) ([]byte, error) {
	var e envelope
	err := errors.Join(
		e.setText(fieldSessionID, s.id),
		e.setText(fieldRequestID, requestID),
		e.setText(fieldOp, op),
	)
	if err != nil {
		return dst, err
	}
	e.setNumber(fieldSequence, s.out.sequence)
	e.set(fieldPayload, jcs.Literal(payload))
	return e.seal(dst, signedRequest, s.ep.Identity)
}

// patience is how long one invoke may take: the caller's context and the invoke
// timeout.
type patience struct {
	ctx     context.Context
	op      string
	expired <-chan time.Time // nil when there is no timeout
	timer   *time.Timer
}

func (s *Session) newPatience(ctx context.Context, op string) *patience {
	p := &patience{ctx: ctx, op: op}
	timeout := s.ep.InvokeTimeout
	if own, ok := ctx.Value(timeoutKey{}).(time.Duration); ok {
		timeout = own
	}
	if timeout > 0 {
		p.timer = time.NewTimer(timeout)
		p.expired = p.timer.C
	}
	return p
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
