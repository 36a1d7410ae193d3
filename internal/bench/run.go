package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Load is how much to do.
type Load struct {
	N        int // calls in all
	InFlight int // calls at once
}

// Call makes one call. Worker is which of the calls at once it is, from 0 on; calls of
// different workers run at the same time. Ctx ends when another call failed.
type Call func(ctx context.Context, worker int) error

// Result is what was measured.
type Result struct {
	Name     string  `json:"name"`
	N        int     `json:"n"`
	InFlight int     `json:"c"`
	Size     int     `json:"size"`
	Seconds  float64 `json:"seconds"`
	PerSec   float64 `json:"per_second"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	// OfFloor is PerSec by that of the floor: the median of the rounds, so that a round
	// in which the machine had other work to do does not count. P50OfFloor is P50 by
	// that of the floor.
	OfFloor    float64 `json:"of_floor"`
	P50OfFloor float64 `json:"p50_of_floor"`
}

// Run makes the calls and measures each. Done, unless nil, is increased as they end. It
// stops at the first error.
func Run(ctx context.Context, load Load, done *atomic.Int64, call Call) (Result, error) {
	t := newTally(load)
	if _, err := t.slice(ctx, load.N, done, call); err != nil {
		return Result{}, err
	}
	return t.result(), nil
}

// tally is the account of calls that are made in one or more slices.
type tally struct {
	load    Load
	took    []time.Duration // of the calls so far
	elapsed time.Duration   // of the slices so far
}

func newTally(load Load) *tally {
	return &tally{load: load, took: make([]time.Duration, 0, load.N)}
}

// slice makes n more of the load's calls and returns how long they took.
func (t *tally) slice(ctx context.Context, n int, done *atomic.Int64, call Call) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before := len(t.took)
	t.took = t.took[:before+n]
	s := &slice{took: t.took[before:], done: done, call: call, fail: cancel}
	var workers sync.WaitGroup
	started := time.Now()
	for w := range min(t.load.InFlight, n) {
		workers.Go(func() { s.work(ctx, w) })
	}
	workers.Wait()
	took := time.Since(started)
	t.elapsed += took
	return took, context.Cause(ctx)
}

// slice is what the workers of one slice share.
type slice struct {
	took []time.Duration // by the number of the call
	next atomic.Int64
	done *atomic.Int64 // may be nil
	call Call
	fail func(error)
}

// work makes calls until there are no more to make.
func (s *slice) work(ctx context.Context, worker int) {
	for ctx.Err() == nil {
		i := s.next.Add(1) - 1
		if i >= int64(len(s.took)) {
			return
		}
		begin := time.Now()
		if err := s.call(ctx, worker); err != nil {
			s.fail(err)
			return
		}
		s.took[i] = time.Since(begin)
		if s.done != nil {
			s.done.Add(1)
		}
	}
}

func (t *tally) result() Result {
	slices.Sort(t.took)
	seconds := t.elapsed.Seconds()
	return Result{
		N: t.load.N, InFlight: t.load.InFlight, Seconds: seconds, PerSec: float64(t.load.N) / seconds,
		P50: percentile(t.took, 50), P99: percentile(t.took, 99),
	}
}

// percentile is the smallest of the sorted times that p percent do not exceed, in
// milliseconds.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return float64(sorted[max(rank, 1)-1].Nanoseconds()) / 1e6
}
