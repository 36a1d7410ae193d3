package connect

import (
	"crypto/sha256"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRecentForgetsTheOldest(t *testing.T) {
	of := func(i int) digest { return sha256.Sum256([]byte(strconv.Itoa(i))) }
	var r recent[int]
	for i := range 100 {
		r.put(3, of(i), i)
		r.put(3, of(i), i) // again is no newcomer
		for back := range 3 {
			if i < back {
				break
			}
			v, ok := r.get(of(i - back))
			assert.True(t, ok)
			assert.Equal(t, i-back, v)
		}
		_, ok := r.get(of(i - 3))
		assert.False(t, ok)
		assert.LessOrEqual(t, len(r.known), 3)
	}
	r.put(3, of(98), -1)
	v, _ := r.get(of(98))
	assert.Equal(t, -1, v)
}
