package connect

import (
	"errors"
	"time"
)

// mostPenalty is the longest time for which a peer is kept out, and how long it has to
// behave until its next penalty is the first again.
const mostPenalty = time.Minute

// penalties are the peers that are kept out for a while because of how their last
// session ended. Only peers that have proven themselves get one, so a recorded hello
// gets nobody else into trouble, and there are no more than are allowed. The table's
// lock guards it.
type penalties struct {
	first time.Duration // negative for none
	peers map[PeerID]penalty
}

type penalty struct {
	last  time.Duration
	until time.Time
}

// misbehaved reports whether a session ended for something that no honest peer does,
// and that costs this side more than it costs the peer.
func misbehaved(cause error) bool {
	return errors.Is(cause, ErrMalformedFrame) || errors.Is(cause, ErrPeerNotReading)
}

// punish keeps a peer out, each time twice as long as the last.
func (p *penalties) punish(peer PeerID, now time.Time) {
	if p.first < 0 {
		return
	}
	next := penalty{last: p.first}
	if before, ok := p.peers[peer]; ok && now.Before(before.until.Add(mostPenalty)) {
		next.last = min(2*before.last, mostPenalty)
	}
	next.until = now.Add(next.last)
	if p.peers == nil {
		p.peers = make(map[PeerID]penalty)
	}
	p.peers[peer] = next
}

// keepsOut reports whether a peer's time is not over yet.
func (p *penalties) keepsOut(peer PeerID, now time.Time) bool {
	current, ok := p.peers[peer]
	if ok && now.After(current.until.Add(mostPenalty)) {
		delete(p.peers, peer)
	}
	return ok && now.Before(current.until)
}
