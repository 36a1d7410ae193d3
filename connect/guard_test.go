package connect_test

import (
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// What the guards hold, both sides together and the copies of the pipe included.
const (
	mostObjects = 16.0
	mostBytes   = 1536.0
)

func TestGuardASmallRoundTripInMemoryTakesLittleMemory(t *testing.T) {
	benchtest.Guarded(t)
	l := connectPair(t, dialConfig(), responderConfig())
	defer l.close()
	benchtest.Allocates(t, mostObjects, mostBytes, bench.Invoke(echoTool, small, l.app))
}
