package bench

import (
	"context"
	"time"
)

// batchTime is about how long one measured call of [Compare] takes at least, so that
// the clock's own time does not count.
const batchTime = 200 * time.Microsecond

// Compare returns how fast work is by the floor's speed: 0.5 for twice the time. Both
// are done many times, one at a time, in turns.
func Compare(work, floor func() error) (float64, error) {
	begin := time.Now()
	if err := work(); err != nil {
		return 0, err
	}
	n := 1 + int(batchTime/max(time.Since(begin), time.Nanosecond))
	r, _, err := Contest{
		Load: Load{N: 32, InFlight: 1}, Work: batch(n, work), Floor: batch(n, floor),
	}.Run(context.Background())
	return r.OfFloor, err
}

// batch is n times f, as a call.
func batch(n int, f func() error) Call {
	return Repeat(n, func(context.Context, int) error { return f() })
}

// Repeat returns a call that is n of the calls, one after the other.
func Repeat(n int, call Call) Call {
	return func(ctx context.Context, worker int) error {
		for range n {
			if err := call(ctx, worker); err != nil {
				return err
			}
		}
		return nil
	}
}
