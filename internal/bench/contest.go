package bench

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
)

// defaultRounds is how many rounds a [Contest] has unless it says.
const defaultRounds = 8

// Contest is two kinds of calls that are measured in turns: a slice of the floor, a
// slice of the work, and so on. Load is what each of the two makes in all, at least one
// call.
type Contest struct {
	Load
	// Rounds is how many slices each of the two has. Zero means 8.
	Rounds int
	// Work is measured beside Floor. Both are required.
	Work, Floor Call
	// Before and After, unless nil, are called around each slice of the work. What they
	// do is not measured.
	Before, After func()
	// Done, unless nil, is increased as the calls of the work end.
	Done *atomic.Int64
}

// Run measures. It stops at the first error. The ratios of both results are to the
// floor.
func (c Contest) Run(ctx context.Context) (work, floor Result, err error) {
	w, f := newTally(c.Load), newTally(c.Load)
	rounds := cmp.Or(c.Rounds, defaultRounds)
	var ratios []float64
	for i := range rounds {
		n := c.N*(i+1)/rounds - c.N*i/rounds
		if n == 0 {
			continue
		}
		ratio, err := c.round(ctx, n, w, f)
		if err != nil {
			return Result{}, Result{}, err
		}
		ratios = append(ratios, ratio)
	}
	work, floor = w.result(), f.result()
	work.OfFloor, work.P50OfFloor = median(ratios), work.P50/floor.P50
	floor.OfFloor, floor.P50OfFloor = 1, 1
	return work, floor, nil
}

// round makes n calls of each kind and returns the speed of the work by the floor's.
func (c Contest) round(ctx context.Context, n int, work, floor *tally) (ratio float64, err error) {
	best, err := floor.slice(ctx, n, nil, c.Floor)
	if err != nil {
		return 0, err
	}
	if c.Before != nil {
		c.Before()
	}
	took, err := work.slice(ctx, n, c.Done, c.Work)
	if c.After != nil {
		c.After()
	}
	return float64(best) / float64(took), err
}

// median of one ratio or more; of an even number it is the mean of the middle two.
func median(ratios []float64) float64 {
	slices.Sort(ratios)
	n := len(ratios)
	return (ratios[(n-1)/2] + ratios[n/2]) / 2
}
