package connect

import (
	"iter"
	"slices"
	"sync"
	"time"
)

// sessionTable is the live sessions of a server and the places that are taken: one by
// each session and by each handshake whose peer was verified. Safe for concurrent use.
type sessionTable struct {
	limits ServerLimits
	second SecondSession

	mu        sync.Mutex
	closed    bool // nothing is added any more
	places    int
	byID      map[string]*Responder
	byPeer    map[PeerID]*peerPlaces
	penalties penalties
	farewells int           // sessions that left and are not over yet
	emptied   chan struct{} // closed once the table is closed and empty
}

// peerPlaces is what one peer takes.
type peerPlaces struct {
	places   int
	sessions []*Responder // in order of arrival
}

func newSessionTable(limits ServerLimits, second SecondSession) *sessionTable {
	return &sessionTable{
		limits: limits, second: second,
		byID: make(map[string]*Responder), byPeer: make(map[PeerID]*peerPlaces),
		penalties: penalties{first: limits.Penalty},
		emptied:   make(chan struct{}),
	}
}

// take takes a place for a session with peer, or says why there is none.
func (t *sessionTable) take(peer PeerID) *HandshakeError {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.byPeer[peer]
	if own == nil {
		own = &peerPlaces{}
	}
	switch {
	case t.closed:
		return refuse(CodeServerClosed, "%w", ErrServerClosed)
	case t.penalties.keepsOut(peer, time.Now()):
		return refuse(CodePenalty, "the peer's last session ended badly")
	case t.places >= t.limits.Sessions:
		return refuse(CodeServerBusy, "%w: all places for %d sessions are taken", ErrServerBusy, t.limits.Sessions)
	case t.second == RefuseSecond && own.places > 0:
		return refuse(CodeSecondSession, "the peer has a session")
	case own.places >= t.limits.SessionsPerPeer:
		return refuse(CodeServerBusy, "%w: the peer has %d sessions", ErrServerBusy, own.places)
	}
	t.places++
	own.places++
	t.byPeer[peer] = own
	return nil
}

// giveBack returns a place that take gave.
func (t *sessionTable) giveBack(peer PeerID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.vacate(peer)
}

func (t *sessionTable) vacate(peer PeerID) {
	own := t.byPeer[peer]
	t.places--
	if own.places--; own.places == 0 {
		delete(t.byPeer, peer)
	}
}

// add lists a session that has a place, false once the table is closed. Welcome is
// asked under the lock, so that who is removed at the same time is either not welcome
// here or found in the table.
func (t *sessionTable) add(r *Responder, welcome func() bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || !welcome() {
		return false
	}
	t.byID[r.ID()] = r
	own := t.byPeer[r.RemotePeerID()]
	own.sessions = append(own.sessions, r)
	return true
}

// remove takes a session off the table and gives its place back. Farewell has to
// follow. The session's mu is held.
func (t *sessionTable) remove(r *Responder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, r.ID())
	own := t.byPeer[r.RemotePeerID()]
	own.sessions = slices.DeleteFunc(own.sessions, func(other *Responder) bool { return other == r })
	t.vacate(r.RemotePeerID())
	t.farewells++
	if misbehaved(r.cause) && r.possess.isProven() {
		t.penalties.punish(r.RemotePeerID(), time.Now())
	}
}

// farewell says that a removed session is over.
func (t *sessionTable) farewell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.farewells--
	t.signalEmpty()
}

// close stops additions.
func (t *sessionTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.signalEmpty()
	}
}

func (t *sessionTable) signalEmpty() {
	if !t.closed || t.farewells > 0 || len(t.byID) > 0 {
		return
	}
	select {
	case <-t.emptied:
	default:
		close(t.emptied)
	}
}

// room returns why no handshake can begin, nil when one can.
func (t *sessionTable) room() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrServerClosed
	case t.places >= t.limits.Sessions:
		return ErrServerBusy
	default:
		return nil
	}
}

func (t *sessionTable) find(id string) (*Responder, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.byID[id]
	return r, ok
}

// of returns the sessions of a peer, in order of arrival.
func (t *sessionTable) of(peer PeerID) []*Responder {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.byPeer[peer]
	if own == nil {
		return nil
	}
	return slices.Clone(own.sessions)
}

// before returns the sessions of the same peer that came earlier than r, none when r
// has left.
func (t *sessionTable) before(r *Responder) []*Responder {
	all := t.of(r.RemotePeerID())
	return all[:max(0, slices.Index(all, r))]
}

func (t *sessionTable) list() []*Responder {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*Responder, 0, len(t.byID))
	for _, r := range t.byID {
		all = append(all, r)
	}
	return all
}

// each yields the sessions that are listed now, without holding the lock.
func (t *sessionTable) each() iter.Seq[*Responder] {
	return func(yield func(*Responder) bool) {
		for _, r := range t.list() {
			if r.State() == Established && !yield(r) {
				return
			}
		}
	}
}
