package ws_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// largeSession returns the near end of a session whose frames may be large.
func largeSession(tb testing.TB) *connect.RemoteAdapter {
	tb.Helper()
	host, dial := serverConfig(), dialConfig()
	host.Limits.FrameBytes, dial.Limits.FrameBytes = 64*mib, 64*mib
	app, _ := newHandled(tb, host, nil).dial(tb, dial)
	tb.Cleanup(func() { hangUp(tb, app.Session) })
	return app
}

// BenchmarkPayload sends a payload there and back, one after the other; the bytes a
// second are those of one way.
//
// From 1 MiB on it reports as "cost-of-64KiB" what a byte costs by that of a payload of
// 64 KiB, and as "peak-x" the most memory that a round trip takes at any time beyond the
// caller's payload, garbage included, in payloads and per side.
func BenchmarkPayload(b *testing.B) {
	app := largeSession(b)
	for _, p := range []struct {
		name string
		size int
	}{{"1KiB", kib}, {"64KiB", 64 * kib}, {"1MiB", mib}, {"16MiB", 16 * mib}} {
		b.Run("ws/size="+p.name, func(b *testing.B) {
			b.SetBytes(int64(p.size))
			peak, cost := 0.0, 0.0
			if p.size >= mib {
				peak, cost = peakOf(b, app, p.size), costOfByte(b, app, p.size, 6)
			}
			benchtest.Invokes(b, benchtest.Echo(b, echoTool, bench.Text(p.size), 1, app))
			if p.size >= mib {
				b.ReportMetric(peak, "peak-x")
				b.ReportMetric(cost, "cost-of-64KiB")
			}
		})
	}
}

// peakOf returns the most heap of some round trips in payloads and per side.
func peakOf(tb testing.TB, app bench.Invoker, size int) float64 {
	tb.Helper()
	const calls, sides = 6, 2
	invoke := bench.Invoke(echoTool, bench.Text(size), app)
	peak, err := bench.Peak(func() error {
		_, err := bench.Run(context.Background(), bench.Load{N: calls, InFlight: 1}, nil, invoke)
		return err
	})
	require.NoError(tb, err)
	return float64(peak) / float64(size) / sides
}

// costOfByte returns what a byte of a payload of the size costs by what one costs that
// comes in payloads of 64 KiB. It takes the typical one of so many calls.
func costOfByte(tb testing.TB, app bench.Invoker, size, calls int) float64 {
	tb.Helper()
	const piece = 64 * kib
	work, _, err := bench.Contest{
		Load: bench.Load{N: calls, InFlight: 1}, Rounds: calls / 2,
		Work:  bench.Invoke(echoTool, bench.Text(size), app),
		Floor: bench.Repeat(size/piece, bench.Invoke(echoTool, bench.Text(piece), app)),
	}.Run(context.Background())
	require.NoError(tb, err)
	return work.P50OfFloor
}
