package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A test binary stands in for the second process.
func TestMain(m *testing.M) {
	if os.Getenv(dialersEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestAnIdleSessionTakesAtMost16KiB(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	m, err := measure(1000)
	require.NoError(t, err)
	assert.LessOrEqual(t, m.kib(m.heap+m.stack), 16.0)
	assert.InDelta(t, 1.0, float64(m.goroutines)/1000, 0.05, "one goroutine, the reader")
}
