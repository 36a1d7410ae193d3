package connect

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// logBrake lets the first, second, fourth, eighth … of many equal lines through.
type logBrake struct{ n atomic.Uint64 }

func (b *logBrake) log(line func(n uint64)) {
	if n := b.n.Add(1); bits.OnesCount64(n) == 1 {
		line(n)
	}
}

// How many lines per second a [lineWindow] lets through.
const (
	refusalLines = 10
	sessionLines = 100 // of beginnings and ends each
)

// lineWindow lets at most so many log lines per second through and counts the rest, for
// events that any number of peers can cause.
type lineWindow struct {
	most int

	mu      sync.Mutex
	until   time.Time
	lines   int
	dropped int
}

// log calls line with how many lines were dropped since the last one, or not at all.
func (w *lineWindow) log(line func(dropped int)) {
	if dropped, ok := w.pass(time.Now()); ok {
		line(dropped)
	}
}

func (w *lineWindow) pass(now time.Time) (dropped int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.After(w.until) {
		w.until, w.lines = now.Add(time.Second), 0
	}
	if w.lines >= w.most {
		w.dropped++
		return 0, false
	}
	w.lines++
	dropped, w.dropped = w.dropped, 0
	return dropped, true
}

// loggable returns err as it may stand in a log. The error of a JSON text that cannot
// be read quotes the names around the place, which are a payload's.
func loggable(err error) error {
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("%w: not JSON at byte %d", ErrMalformedFrame, syntactic.ByteOffset)
	}
	return err
}
