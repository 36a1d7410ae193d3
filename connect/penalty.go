package connect

import (
	"errors"
	"maps"
	"time"
)

// mostPenalty is the longest time for which a peer is kept out, and how long it has to
// behave until its next penalty is the first again.
const mostPenalty = time.Minute

// penalties are the peers that are kept out for a while because of how their last
// session ended. Only peers that have proven themselves get one, so a recorded hello
// gets nobody else into trouble. The table's lock guards it.
type penalties struct {
	first time.Duration // negative for none
	peers map[PeerID]penalty
	prune int // from how many peers on those are forgotten that behaved
}

const fewPenalties = 64

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
	if before, ok := p.peers[peer]; ok && !before.forgiven(now) {
		next.last = max(p.first, min(2*before.last, mostPenalty))
	}
	next.until = now.Add(next.last)
	if p.peers == nil {
		p.peers = make(map[PeerID]penalty)
	}
	p.peers[peer] = next
	if len(p.peers) > max(p.prune, fewPenalties) {
		maps.DeleteFunc(p.peers, func(_ PeerID, old penalty) bool { return old.forgiven(now) })
		p.prune = 2 * len(p.peers)
	}
}

// forgiven reports whether the next penalty is the first again.
func (p penalty) forgiven(now time.Time) bool { return now.After(p.until.Add(mostPenalty)) }

// keepsOut reports whether a peer's time is not over yet.
func (p *penalties) keepsOut(peer PeerID, now time.Time) bool {
	current, ok := p.peers[peer]
	if ok && current.forgiven(now) {
		delete(p.peers, peer)
	}
	return ok && now.Before(current.until)
}
