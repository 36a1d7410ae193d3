// Package bench measures how many calls a session carries, beside what the signatures of
// those calls cost alone on the same machine.
package bench

import (
	"context"
	"crypto/ed25519"
	"errors"
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
	// OfFloor is PerSec by that of the floor.
	OfFloor float64 `json:"of_floor"`
}

// Run makes the calls and measures each. Done, unless nil, is increased as they end. It
// stops at the first error.
func Run(ctx context.Context, load Load, done *atomic.Int64, call func(ctx context.Context, worker int) error) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if done == nil {
		done = new(atomic.Int64)
	}
	took := make([]time.Duration, load.N)
	var next atomic.Int64
	var workers sync.WaitGroup
	started := time.Now()
	for w := range load.InFlight {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(load.N) {
					return
				}
				begin := time.Now()
				if err := call(ctx, w); err != nil {
					cancel(err)
					return
				}
				took[i] = time.Since(begin)
				done.Add(1)
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	return result(load, took, time.Since(started)), nil
}

func result(load Load, took []time.Duration, elapsed time.Duration) Result {
	slices.Sort(took)
	return Result{
		N: load.N, InFlight: load.InFlight, Seconds: elapsed.Seconds(), PerSec: float64(load.N) / elapsed.Seconds(),
		P50: percentile(took, 50), P99: percentile(took, 99),
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

var errUnverified = errors.New("a signature of the floor does not verify")

// Floor measures two signs and two verifies for each call, a request's and a response's,
// over messages of the given sizes, with as many at once as the load says: no session
// that signs and verifies every envelope on this machine can be faster.
func Floor(ctx context.Context, load Load, request, response int) (Result, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return Result{}, err
	}
	public := key.Public().(ed25519.PublicKey)
	messages := [][]byte{make([]byte, request), make([]byte, response)}
	r, err := Run(ctx, load, nil, func(context.Context, int) error {
		for _, message := range messages {
			if !ed25519.Verify(public, message, ed25519.Sign(key, message)) {
				return errUnverified
			}
		}
		return nil
	})
	r.Name = "ed25519 floor"
	return r, err
}
