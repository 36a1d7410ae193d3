package bench_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

// lasting returns a call that takes so long.
func lasting(took time.Duration) bench.Call {
	return func(context.Context, int) error {
		<-time.After(took)
		return nil
	}
}

func TestAContestComparesWorkWithItsFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Int64
		work, floor, err := bench.Contest{
			Load: bench.Load{N: 37, InFlight: 1}, Done: &done,
			Work: lasting(4 * time.Second), Floor: lasting(time.Second),
		}.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, int64(37), done.Load())
		assert.Equal(t, 37, work.N)
		assert.Equal(t, 37, floor.N)
		assert.Equal(t, 0.25, work.OfFloor)
		assert.Equal(t, 4.0, work.P50OfFloor)
		assert.Equal(t, 1.0, floor.OfFloor)
		assert.Equal(t, 1.0, floor.P50OfFloor)
		assert.Equal(t, 4*37.0, work.Seconds)
		assert.Equal(t, 37.0, floor.Seconds)
	})
}

// orderOf returns the order of a contest's calls: f and w, and b and a for the hooks.
func orderOf(t *testing.T, c bench.Contest) (order string) {
	note := func(letter string) bench.Call {
		return func(context.Context, int) error { order += letter; return nil }
	}
	c.InFlight = 1
	c.Work, c.Floor = note("w"), note("f")
	c.Before, c.After = func() { order += "b" }, func() { order += "a" }
	_, _, err := c.Run(t.Context())
	require.NoError(t, err)
	return order
}

func TestTheSlicesOfAContestTakeTurns(t *testing.T) {
	assert.Equal(t, "ffbwwaffbwwafffbwwwa", orderOf(t, bench.Contest{Load: bench.Load{N: 7}, Rounds: 3}))
	assert.Equal(t, "fbwafbwa", orderOf(t, bench.Contest{Load: bench.Load{N: 2}, Rounds: 5}), "fewer calls than rounds")
	assert.Len(t, orderOf(t, bench.Contest{Load: bench.Load{N: 16}}), 2*16+2*8, "eight rounds unless it says")
}

func TestWhatTheHooksOfAContestDoIsNotMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rest := func() { <-time.After(time.Hour) }
		work, _, err := bench.Contest{
			Load: bench.Load{N: 8, InFlight: 1}, Before: rest, After: rest,
			Work: lasting(time.Second), Floor: lasting(time.Second),
		}.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1.0, work.OfFloor)
	})
}

func TestASlowRoundDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		work, _, err := bench.Contest{
			Load: bench.Load{N: 8, InFlight: 1}, Floor: lasting(time.Second),
			Work: func(ctx context.Context, worker int) error {
				if n++; n == 3 {
					return lasting(time.Hour)(ctx, worker)
				}
				return lasting(2*time.Second)(ctx, worker)
			},
		}.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 0.5, work.OfFloor)
	})
}

func TestTheFirstErrorEndsAContest(t *testing.T) {
	broken := errors.New("broken")
	good, bad := lasting(0), func(context.Context, int) error { return broken }
	for _, c := range []bench.Contest{{Work: bad, Floor: good}, {Work: good, Floor: bad}} {
		c.Load = bench.Load{N: 1000, InFlight: 4}
		_, _, err := c.Run(t.Context())
		assert.ErrorIs(t, err, broken)
	}
}

func TestTheFloorCostsItsSignatures(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	text := make([]byte, 320)
	pair := func(context.Context, int) error {
		if !ed25519.Verify(public, text, ed25519.Sign(key, text)) {
			return errors.New("unverified")
		}
		return nil
	}
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d of them", n), func(t *testing.T) {
			floor, err := bench.Floor([]int{320, 320, 320}[:n]...)
			require.NoError(t, err)
			got, _, err := bench.Contest{Load: bench.Load{N: 64, InFlight: 1}, Work: floor, Floor: pair}.Run(t.Context())
			require.NoError(t, err)
			assert.InEpsilon(t, float64(n), got.P50OfFloor, 0.5)
		})
	}
}

func TestTheFloorAllocatesNothing(t *testing.T) {
	floor, err := bench.Floor(100, 10)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(20, func() { _ = floor(t.Context(), 0) }))
}
