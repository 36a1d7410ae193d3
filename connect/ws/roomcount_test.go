package ws

import (
	"syscall"
	"testing"

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
