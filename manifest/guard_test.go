package manifest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
	"github.com/spoke-peer/spoke-go/manifest"
)

// What the guards hold, as speeds by that of something else in the same run.
const (
	leastOfDecoding   = 0.1 // of validating arguments, by decoding them
	leastOfLargeOrder = 0.4 // of validating 1,000 lines, by a hundred times ten
)

func TestGuardValidationIsNotFarFromDecoding(t *testing.T) {
	benchtest.Guarded(t)
	args := orderOf(10)
	benchtest.AtLeast(t, leastOfDecoding, func() (float64, error) {
		return bench.Compare(validating(t, 10), decoding(args))
	})
}

func TestGuardALargeArgumentIsValidatedAsFastAsSmallOnes(t *testing.T) {
	benchtest.Guarded(t)
	small := validating(t, 10)
	benchtest.AtLeast(t, leastOfLargeOrder, func() (float64, error) {
		return bench.Compare(validating(t, 1000), func() error {
			for range 100 {
				if err := small(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func validating(t *testing.T, lines int) func() error {
	t.Helper()
	schemas, err := manifest.CompileTool(order(), manifest.Peer)
	require.NoError(t, err)
	args := orderOf(lines)
	return func() error { return schemas.ValidateArguments(args) }
}
