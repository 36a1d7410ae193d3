package connect

import (
	"errors"
	"fmt"
	"slices"
	"time"

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

// takeTurn waits for the slot, false when the session ended first.
func (s *Session) takeTurn() bool {
	select {
	case s.out.slot <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// writeOrEnd writes a frame that carries no sequence of ours; the caller holds the slot.
// Nobody waits for the write: one that fails ends the session, which is all there is to
// do.
func (s *Session) writeOrEnd(frame []byte) {
	if err := s.write(frame); err != nil {
		s.endBroken(err)
	}
}

func (s *Session) freeSlot() { <-s.out.slot }

// sendRequest allocates a sequence, signs and writes one request, and returns the waiter
// for its answer. A write for which the transport has no room is left to a goroutine of
// the session, so that one which is stuck does not hold the caller.
func (s *Session) sendRequest(p *patience, payload content) (*waiter, *spoke.Reject) {
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
	if reject != nil {
		signBuffers.put(buf)
		s.freeSlot()
		return nil, reject
	}
	id := w.id // from here on the waiter is whose takes it
	if s.room != nil && s.room.HasRoom(len(*buf)) {
		s.transmit(id, p.op, buf)
		return w, nil
	}
	go s.transmit(id, p.op, buf)
	return w, nil
}

// prepareRequest signs a request at the next sequence into buf; the caller holds the
// slot. Its waiter is there before the caller can give up and before an answer can come.
func (s *Session) prepareRequest(buf *[]byte, p *patience, payload content) (*waiter, *spoke.Reject) {
	if s.ctx.Err() != nil {
		return nil, s.closedReject()
	}
	if s.out.sequence > maxSequence {
		s.end(ErrSequenceExhausted)
		return nil, s.closedReject().WithKind(spoke.KindSequenceExhausted)
	}
	id := newRequestID()
	var err error
	if *buf, err = s.requestFrame((*buf)[:0], &id, p, payload); err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "%w", err)
	}
	if most := s.ep.Limits.FrameBytes; len(*buf) > most {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "the request to %s takes %d bytes, at most %d fit a frame", p.op, len(*buf), most)
	}
	w := s.addWaiter(id, s.out.sequence)
	if w == nil {
		return nil, s.closedReject()
	}
	s.owed.Add(1)
	return w, nil
}

// transmit writes a prepared request, moves the counter and frees the slot.
func (s *Session) transmit(id requestID, op string, buf *[]byte) {
	defer s.running.Done() // since the waiter was added
	defer s.freeSlot()
	defer signBuffers.put(buf)
	err := s.write(*buf)
	if err == nil {
		s.out.sequence++
		return
	}
	if w, _ := s.takeWaiter(id); w != nil {
		w.answer <- answer{fault: s.writeFault(op, err)}
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

// requestFrame appends a signed request to dst.
//
// Source: wire spec, section 5.
func (s *Session) requestFrame(dst []byte, id *requestID, p *patience, payload content) ([]byte, error) {
	d := newDraft(slices.Grow(dst, payload.size()+len(p.auth)+len(p.op)+denialBytes))
	if p.auth != nil {
		d.json(fieldAuth, p.auth)
	}
	if err := d.string(fieldOp, p.op); err != nil {
		return d.text, err
	}
	d.content(fieldPayload, payload)
	d.plain(fieldRequestID, id[:])
	d.number(fieldSequence, s.out.sequence)
	d.json(fieldSessionID, s.quotedID)
	return d.seal(s.ep.Identity), nil
}
