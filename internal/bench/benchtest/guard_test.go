package benchtest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAGuardTakesTheBestOfThreeMeasurements(t *testing.T) {
	atLeastOne := func(ratio float64) bool { return ratio >= 1 }
	for name, c := range map[string]struct {
		measured, seen []float64
		ok             bool
	}{
		"it ends with the first that holds": {[]float64{1.5, 0, 0}, []float64{1.5}, true},
		"it gives a busy machine time":      {[]float64{0.5, 0.9, 1}, []float64{0.5, 0.9, 1}, true},
		"it gives up after three":           {[]float64{0.5, 0.9, 0.8, 1}, []float64{0.5, 0.9, 0.8}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			seen, ok, err := best(func() (float64, error) { n++; return c.measured[n-1], nil }, atLeastOne)
			assert.NoError(t, err)
			assert.Equal(t, c.ok, ok)
			assert.Equal(t, c.seen, seen)
		})
	}
	broken := errors.New("broken")
	_, ok, err := best(func() (float64, error) { return 2, broken }, atLeastOne)
	assert.ErrorIs(t, err, broken)
	assert.False(t, ok)
}
