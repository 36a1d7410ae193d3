package connect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestATimerThatWasGivenBackIsLentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lent timers
		first := lent.start(time.Second)
		<-time.After(2 * time.Second) // it fires, and nobody reads
		lent.stop(first)
		again := lent.start(time.Minute)
		assert.Same(t, first, again)
		began := time.Now()
		<-again.C
		assert.Equal(t, time.Minute, time.Since(began), "it forgot that it had fired")

		var many []*time.Timer
		for range 2 * maxIdleTimers {
			many = append(many, lent.start(time.Hour))
		}
		for _, timer := range many {
			lent.stop(timer)
		}
		assert.Len(t, lent.idle, maxIdleTimers)
	})
}
