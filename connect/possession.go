package connect

import (
	"context"
	"sync"

	"github.com/spoke-peer/spoke-go/spoke"
)

// probeOp is an op that no peer serves: any verified answer proves the peer.
const probeOp = "tools.spoke.probe"

// possession is the proof that the peer holds its key. A replayed hello can reach
// Established but can sign nothing, so a responder's peer is proven only by the first
// envelope that verifies in this session.
//
// Source: wire spec, section 4.
type possession struct {
	proven chan struct{} // closed once proven
	once   sync.Once

	mu     sync.Mutex
	flight *probe // under way, nil if none
}

// probe is one probe request, shared by all who wait for the proof.
type probe struct {
	done   chan struct{}
	reject *spoke.Reject // set before done is closed
}

func (p *possession) init(proven bool) {
	p.proven = make(chan struct{})
	if proven {
		p.prove()
	}
}

func (p *possession) isProven() bool {
	select {
	case <-p.proven:
		return true
	default:
		return false
	}
}

func (p *possession) prove() { p.once.Do(func() { close(p.proven) }) }

// ensurePossession waits for the proof and sends the probe if nobody has. A probe that
// ran out of time is sent again for a caller that has some left.
func (s *Session) ensurePossession(p *patience) *spoke.Reject {
	for {
		select {
		case <-s.possess.proven:
			return nil
		default:
		}
		flight := s.joinProbe()
		if flight == nil || p.over() {
			return s.gaveUp(p)
		}
		select {
		case <-s.possess.proven:
			return nil
		case <-flight.done:
			if flight.reject == nil || flight.reject.Kind() != spoke.KindTimeout {
				return flight.reject
			}
		case <-p.ctx.Done():
			return s.gaveUp(p)
		case <-p.expired:
			return s.gaveUp(p)
		case <-s.ctx.Done():
			return s.gaveUp(p)
		}
	}
}

// joinProbe returns the probe under way and starts one if there is none, nil once the
// session has ended.
func (s *Session) joinProbe() *probe {
	s.possess.mu.Lock()
	defer s.possess.mu.Unlock()
	if s.possess.flight == nil {
		flight := &probe{done: make(chan struct{})}
		if !s.run(func() { s.probe(flight) }) {
			return nil
		}
		s.possess.flight = flight
	}
	return s.possess.flight
}

// probe asks for something that no peer has. It belongs to the session, not to the
// caller that happened to be first.
func (s *Session) probe(flight *probe) {
	p := s.patienceOf(context.Background(), probeOp, s.ownTimeout())
	defer s.endPatience(&p)
	_, reject := s.roundTrip(&p, noArguments)
	select {
	case <-s.possess.proven: // whatever the answer says
	default:
		flight.reject = reject
	}
	s.possess.mu.Lock()
	s.possess.flight = nil
	s.possess.mu.Unlock()
	close(flight.done)
}
