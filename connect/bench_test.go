package connect_test

import (
	"fmt"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// small is the arguments of a small round trip.
var small = raw(`{"count":2,"sides":6}`)

// BenchmarkInvoke is a signed round trip in memory.
func BenchmarkInvoke(b *testing.B) {
	l := connectPair(b, dialConfig(), responderConfig())
	defer l.close()
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("pipe/inflight=%d", n), func(b *testing.B) {
			benchtest.Invokes(b, benchtest.Echo(b, echoTool, small, n, l.app))
		})
	}
	for _, n := range []int{2, 16, 64} {
		b.Run(fmt.Sprintf("pipe/both-ways/inflight=%d", n), func(b *testing.B) {
			benchtest.Invokes(b, benchtest.Echo(b, echoTool, small, n, l.app, l.host))
		})
	}
}
