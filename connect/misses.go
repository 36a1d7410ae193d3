package connect

import "time"

// misses counts frames in a row that led to nothing.
type misses int

// An honest peer ends the session after the first request that was refused for its
// sequence or signature, and has few others in flight by then.
const (
	freeMisses = 64
	missPause  = time.Millisecond
)

// missed counts a frame that led to nothing: a request that was refused before it
// reached a handler, an answer that nobody can wait for, or no envelope at all. Beyond
// a few in a row the reader takes its time, so that a peer who floods costs as much as
// a slow one, and the other peers do not notice.
func (s *Session) missed() {
	if s.misses++; s.misses <= freeMisses {
		return
	}
	pause := time.NewTimer(missPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-s.ctx.Done():
	}
}

// answeredLate settles the account of an answer that nobody waits for: one for each
// request of ours may be late, more were never asked for.
func (s *Session) answeredLate() {
	if s.owed.Load() < 0 {
		s.missed()
	}
}
