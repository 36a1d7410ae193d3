package connect

import (
	"sync"
	"time"
)

// maxIdleTimers is how many stopped timers a session keeps.
const maxIdleTimers = 64

// timers lends timers and takes them back: an invoke needs one, and seldom lets it fire.
// The zero value has none.
type timers struct {
	mu   sync.Mutex
	idle []*time.Timer // stopped, nothing in their channels
}

// start returns a timer that fires after d.
func (t *timers) start(d time.Duration) *time.Timer {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.idle) - 1
	if last < 0 {
		return time.NewTimer(d)
	}
	timer := t.idle[last]
	t.idle[last], t.idle = nil, t.idle[:last]
	timer.Reset(d)
	return timer
}

// stop takes a timer back, whether it fired or not; nobody reads its channel any more.
func (t *timers) stop(timer *time.Timer) {
	if !timer.Stop() {
		select {
		case <-timer.C: // only with GODEBUG=asynctimerchan=1
		default:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) < maxIdleTimers {
		t.idle = append(t.idle, timer)
	}
}
