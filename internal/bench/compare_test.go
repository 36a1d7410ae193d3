package bench_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

func TestWorkIsComparedWithItsFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := func(d time.Duration) func() error {
			return func() error { <-time.After(d); return nil }
		}
		ratio, err := bench.Compare(took(4*time.Microsecond), took(time.Microsecond))
		require.NoError(t, err)
		assert.Equal(t, 0.25, ratio)
	})
}

func TestTheErrorOfWhatIsComparedComesBack(t *testing.T) {
	broken := errors.New("broken")
	good, bad := func() error { return nil }, func() error { return broken }
	_, err := bench.Compare(bad, good)
	assert.ErrorIs(t, err, broken)
	_, err = bench.Compare(good, bad)
	assert.ErrorIs(t, err, broken)
}
