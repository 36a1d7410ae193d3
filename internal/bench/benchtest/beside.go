// Package benchtest lets benchmarks report their floor, and tests guard a ratio to it.
package benchtest

import (
	"encoding/json"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

// Contest measures c's work in b.N calls, c.InFlight at once, and c's floor between
// them while the benchmark's clock stands. It reports calls a second by the floor's as
// "of-floor" and, of calls one after the other, the time that half of them took at most
// by the floor's as "p50-of-floor": with more calls than cores the floor's calls don't
// wait for each other, as a session's do.
func Contest(b *testing.B, c bench.Contest) bench.Result {
	b.Helper()
	before, after := c.Before, c.After
	c.N = b.N
	c.Before = func() {
		call(before)
		b.StartTimer()
	}
	c.After = func() {
		b.StopTimer()
		call(after)
	}
	b.StopTimer()
	b.ResetTimer()
	work, _, err := c.Run(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(work.OfFloor, "of-floor")
	if c.InFlight == 1 {
		b.ReportMetric(work.P50OfFloor, "p50-of-floor")
	}
	return work
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// Floor is [bench.Floor].
func Floor(tb testing.TB, sizes ...int) bench.Call {
	tb.Helper()
	floor, err := bench.Floor(sizes...)
	if err != nil {
		tb.Fatal(err)
	}
	return floor
}

// Echo is the contest between calls of a tool that returns its arguments, in turn at
// each of the invokers, and what their signatures cost.
func Echo(tb testing.TB, tool string, args json.RawMessage, inFlight int, at ...bench.Invoker) bench.Contest {
	tb.Helper()
	size := bench.Envelope + len(args)
	return bench.Contest{
		Load:  bench.Load{InFlight: inFlight},
		Work:  bench.Invoke(tool, args, at...),
		Floor: Floor(tb, size, size),
	}
}

// Invokes measures [Echo] and reports "invokes/s" and what a round trip allocates, both
// sides together, besides.
func Invokes(b *testing.B, echo bench.Contest) {
	b.Helper()
	b.ReportAllocs()
	work := Contest(b, echo)
	b.ReportMetric(work.PerSec, "invokes/s")
}
