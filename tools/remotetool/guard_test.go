package remotetool

import (
	"context"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// What the guards hold of a catalog of 10,000 tools, as times by that of the catalog that
// is made from nothing.
const (
	mostOfUnchanged  = 0.01
	mostOfOneChanged = 0.5
)

func TestGuardWhatHasNotChangedIsNotMadeAnew(t *testing.T) {
	benchtest.Guarded(t)
	p := manyProvided(t, trivialProbe)
	for _, c := range []struct {
		name string
		most float64
		work func(testing.TB, *Provider) func()
	}{
		{"an answer that nothing has changed", mostOfUnchanged, unchanged},
		{"the catalog after one of its tools was replaced", mostOfOneChanged, oneChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			work := callOf(c.work(t, p))
			benchtest.AtMost(t, c.most, func() (float64, error) {
				got, _, err := bench.Contest{
					Load: bench.Load{N: 3, InFlight: 1}, Work: work, Floor: callOf(allChanged(t, p)),
				}.Run(t.Context())
				return got.P50OfFloor, err
			})
		})
	}
}

func callOf(f func()) bench.Call {
	return func(context.Context, int) error { f(); return nil }
}
