package diff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/conformance/internal/diff"
)

func TestTheFirstDifferenceIsAByteOrTheEndOfTheShorterText(t *testing.T) {
	assert.Equal(t, 5, diff.First(`{"a":1}`, `{"a":2}`))
	assert.Equal(t, 2, diff.First("ab", "abc"))
	assert.Equal(t, 2, diff.First("abc", "ab"))
	assert.Equal(t, 1, diff.First("é", "è"), "a byte of a character")
	assert.Equal(t, 0, diff.First("", ""))
}
