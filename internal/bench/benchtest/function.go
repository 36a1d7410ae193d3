package benchtest

import (
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

// Function measures work and reports its allocations and, as "of-floor", its speed by
// that of the floor.
func Function(b *testing.B, work, floor func() error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := work(); err != nil {
			b.Fatal(err)
		}
	}
	ratio, err := bench.Compare(work, floor)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ratio, "of-floor")
}
