package ws

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAHabitIsLearned(t *testing.T) {
	var h habit
	tries := func(messages int) (n int) {
		for range messages {
			if h.waits() {
				n++
				h.learn(1)
			}
		}
		return n
	}
	assert.Zero(t, tries(firstPause), "a new connection does not let messages wait")
	assert.Equal(t, 4, tries(1+32+1+64+1+128+1+256), "and tries more and more seldom")
	assert.Equal(t, 1, tries(lastPause+1), "but does not give up")

	h = habit{pause: firstPause}
	require.True(t, h.waits())
	h.learn(company)
	for range 10 {
		assert.True(t, h.waits(), "company makes them wait")
		h.learn(2)
	}
	h.learn(1)
	assert.True(t, h.waits())
	h.learn(1)
	assert.Zero(t, tries(firstPause), "until they come one by one")
	assert.Equal(t, 1, tries(1))

	for range 100 {
		h.learn(company)
	}
	for range mostTrust {
		require.True(t, h.waits())
		h.learn(1)
	}
	assert.False(t, h.waits(), "a long habit ends as well")
}
