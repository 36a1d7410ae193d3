package benchtest

import (
	"flag"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

// guarding is a flag of every test binary that imports this package.
var guarding = flag.Bool("guard", false, "run the tests that hold how fast something is, as a ratio")

// Guarded skips a test unless the flag -guard is given. A guard calls it before it
// prepares anything that takes time.
func Guarded(t *testing.T) {
	t.Helper()
	if !*guarding {
		t.Skip("-guard runs it")
	}
}

// AtLeast holds a ratio that measure returns to a least value. It measures up to three
// times and takes the best, so that a machine with other work to do fails nothing.
// Without the flag -guard the test is skipped.
func AtLeast(t *testing.T, least float64, measure func() (float64, error)) {
	t.Helper()
	Guarded(t)
	seen, ok, err := best(measure, func(ratio float64) bool { return ratio >= least })
	report(t, seen, "at least", least, ok, err)
}

// AtMost is [AtLeast] for a greatest value.
func AtMost(t *testing.T, most float64, measure func() (float64, error)) {
	t.Helper()
	Guarded(t)
	seen, ok, err := best(measure, func(ratio float64) bool { return ratio <= most })
	report(t, seen, "at most", most, ok, err)
}

// tries is how often a guard measures at most.
const tries = 3

// best measures until a ratio holds, and returns what it saw.
func best(measure func() (float64, error), holds func(float64) bool) (seen []float64, ok bool, err error) {
	for range tries {
		ratio, err := measure()
		if err != nil {
			return seen, false, err
		}
		if seen = append(seen, ratio); holds(ratio) {
			return seen, true, nil
		}
	}
	return seen, false, nil
}

func report(t *testing.T, seen []float64, bound string, value float64, ok bool, err error) {
	t.Helper()
	switch {
	case err != nil:
		t.Fatal(err)
	case ok:
		t.Logf("measured %.3g, %s %.3g is wanted", seen, bound, value)
	default:
		t.Errorf("measured %.3g, %s %.3g is wanted", seen, bound, value)
	}
}

// Allocates holds what a call takes from the heap, whoever in the process does, to so
// many objects and bytes.
func Allocates(t *testing.T, objects, bytes float64, call bench.Call) {
	t.Helper()
	Guarded(t)
	const calls = 2000
	t.Run("objects", func(t *testing.T) {
		AtMost(t, objects, func() (float64, error) { n, _, err := allocations(t, calls, call); return n, err })
	})
	t.Run("bytes", func(t *testing.T) {
		AtMost(t, bytes, func() (float64, error) { _, n, err := allocations(t, calls, call); return n, err })
	})
}

func allocations(t *testing.T, calls int, call bench.Call) (objects, bytes float64, err error) {
	return bench.Allocations(calls, func() error {
		for range calls {
			if err := call(t.Context(), 0); err != nil {
				return err
			}
		}
		return nil
	})
}
