package ws

import (
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// asked is a socket that counts how often it is asked.
type asked struct {
	syscall.RawConn
	times int
}

func (a *asked) Control(f func(uintptr)) error {
	a.times++
	f(0)
	return nil
}

func TestASocketIsAskedAgainWhenWhatItHadRoomForIsSpent(t *testing.T) {
	for name, c := range map[string]struct {
		secure bool
		want   []int
	}{
		"in the clear":                      {false, []int{1, 1, 1, 2, 2}},
		"under TLS, which writes by itself": {true, []int{1, 2, 3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			socket := new(asked)
			r := room{socket: socket, secure: c.secure}
			r.ask = func(uintptr) { r.writable = true }
			for _, times := range c.want {
				assert.True(t, r.has(600))
				assert.Equal(t, times, socket.times)
				r.spend(600)
			}
			assert.False(t, r.has(roomBytes), "too long with its header")
			assert.Equal(t, c.want[4], socket.times)
		})
	}
	full := room{socket: new(asked), ask: func(uintptr) {}}
	assert.False(t, full.has(1))
	assert.False(t, new(room).has(1))
}

func TestAPingOfAnothersConnectionNeedsRoomWhereTheSocketCanTell(t *testing.T) {
	ledger := func(writable bool) *socketLedger {
		s := &socketLedger{spare: room{socket: new(asked), secure: true}}
		s.spare.ask = func(uintptr) { s.spare.writable = writable }
		return s
	}
	made := ledgerOf(newScripted()).(*socketLedger)
	assert.True(t, made.spare.secure, "it asks every time")
	assert.True(t, ledger(true).awaitSpare(10, time.Hour))
	assert.Equal(t, !canAsk, ledger(false).awaitSpare(10, time.Hour))
	assert.True(t, new(socketLedger).awaitSpare(10, time.Hour), "nobody can tell")
}

func TestAnIntervalIsNeverTooLongToAddUp(t *testing.T) {
	var p pulse
	p.start(dialed(t).conn, math.MaxInt64, new(socketLedger))
	defer p.stop()
	assert.Positive(t, p.patience())
	p.felt()
	assert.True(t, time.Now().Add(p.patience()).After(time.Now()))
}
