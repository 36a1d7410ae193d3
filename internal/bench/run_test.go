package bench_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

func TestEveryCallIsMadeAndMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n := 0
		var done atomic.Int64
		r, err := bench.Run(t.Context(), bench.Load{N: 100, InFlight: 1}, &done, func(ctx context.Context, _ int) error {
			mu.Lock()
			n++
			took := time.Duration(n) * time.Millisecond
			mu.Unlock()
			<-time.After(took)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, int64(100), done.Load())
		assert.Equal(t, 50.0, r.P50)
		assert.Equal(t, 99.0, r.P99)
		assert.InDelta(t, 5.05, r.Seconds, 1e-9)
		assert.InDelta(t, 100/5.05, r.PerSec, 1e-9)
	})
}

func TestAsManyCallsRunAtOnceAsTheLoadSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := bench.Run(t.Context(), bench.Load{N: 40, InFlight: 8}, nil, func(context.Context, int) error {
			<-time.After(time.Second)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, 5.0, r.Seconds)
	})
}

func TestTheFirstErrorEndsTheRun(t *testing.T) {
	broken := errors.New("broken")
	_, err := bench.Run(t.Context(), bench.Load{N: 1000, InFlight: 4}, nil, func(context.Context, int) error { return broken })
	assert.ErrorIs(t, err, broken)
}
