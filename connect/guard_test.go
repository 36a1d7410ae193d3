package connect_test

import (
	"runtime"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// What the guards hold, both sides together and the copies of the pipe included.
const (
	mostObjects = 8.0
	mostBytes   = 1536.0

	leastOfFloorAt16 = 0.6 // half of that when everything runs on one of two cores
)

func TestGuardTheTwoEndsOfAPipeShareTheCores(t *testing.T) {
	benchtest.Guarded(t)
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one core")
	}
	l := connectPair(t, dialConfig(), responderConfig())
	defer l.close()
	benchtest.AtLeast(t, leastOfFloorAt16, func() (float64, error) {
		c := benchtest.Echo(t, echoTool, small, 16, l.app)
		c.N = 2000
		work, _, err := c.Run(t.Context())
		return work.OfFloor, err
	})
}

func TestGuardASmallRoundTripInMemoryTakesLittleMemory(t *testing.T) {
	benchtest.Guarded(t)
	l := connectPair(t, dialConfig(), responderConfig())
	defer l.close()
	benchtest.Allocates(t, mostObjects, mostBytes, bench.Invoke(echoTool, small, l.app))
}
