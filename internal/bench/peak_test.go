package bench_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

const size = 64 << 20

func TestThePeakIsWhatWasTakenAtOnce(t *testing.T) {
	kept := make([]byte, size)
	peak, err := bench.Peak(func() error {
		runtime.KeepAlive(make([]byte, size))
		<-time.After(20 * time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	runtime.KeepAlive(kept)
	assert.InEpsilon(t, size, peak, 0.2, "and not what was taken before")
}

func TestAllocationsAreCountedByTheCall(t *testing.T) {
	var kept [][]byte
	objects, bytes, err := bench.Allocations(1000, func() error {
		kept = make([][]byte, 0, 1000)
		for range 1000 {
			kept = append(kept, make([]byte, 1000), make([]byte, 24))
		}
		return nil
	})
	require.NoError(t, err)
	assert.Len(t, kept, 2000)
	assert.InDelta(t, 2, objects, 0.2)
	assert.InDelta(t, 1024+24+48, bytes, 100)
}

func TestTheErrorOfWhatIsMeasuredComesBack(t *testing.T) {
	broken := errors.New("broken")
	_, err := bench.Peak(func() error { return broken })
	assert.ErrorIs(t, err, broken)
	_, _, err = bench.Allocations(1, func() error { return broken })
	assert.ErrorIs(t, err, broken)
}
