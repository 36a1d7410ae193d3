package ws

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newOutbox returns an outbox over a connection that takes everything, roomy or not as
// far as it can tell.
func newOutbox(roomy bool) (*outbox, *scripted) {
	conn, o := newScripted(), new(outbox)
	conn.held = open
	o.init(conn)
	o.begun = true
	if roomy {
		o.room.socket = new(asked)
		o.room.ask = func(uintptr) { o.room.writable = true }
	}
	return o, conn
}

func send(t *testing.T, o *outbox, texts ...string) {
	t.Helper()
	for _, text := range texts {
		n, err := o.write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
}

// stuckOutbox returns an outbox in a bubble that writes a message which the peer does not
// read until the test closes conn.held.
func stuckOutbox(t *testing.T) (*outbox, *scripted) {
	t.Helper()
	o, conn := newOutbox(false)
	conn.held = make(chan struct{})
	send(t, o, "stuck")
	synctest.Wait()
	return o, conn
}

// full are messages that fill an outbox.
var full = []string{string(make([]byte, roomBytes)), string(make([]byte, roomBytes))}

func TestAMessageAloneIsWrittenAtOnce(t *testing.T) {
	o, conn := newOutbox(true)
	send(t, o, "one", "two")
	assert.Equal(t, []string{"one", "two"}, conn.written())
	assert.Zero(t, o.room.socket.(*asked).times, "a new socket has room")
}

func TestMessagesThatComeCloseAreWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, conn := newOutbox(true)
		o.habit.trust = 1
		conn.held = make(chan struct{})
		send(t, o, "one")
		synctest.Wait() // it is being written
		send(t, o, "two", "three", "four")
		assert.Empty(t, conn.written())
		close(conn.held)
		synctest.Wait()
		assert.Equal(t, []string{"one", "twothreefour"}, conn.written())
		assert.Nil(t, o.piece, "an idle connection holds no memory")
		o.stop()
	})
}

func TestWithoutRoomAMessageIsWrittenAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, conn := stuckOutbox(t)
		message := string(make([]byte, 1000))
		sent := 0
		for ; o.hasRoom(len(message)); sent++ {
			send(t, o, message)
		}
		assert.Equal(t, 3, sent, "as many as a piece holds, with room for a ping and a pong")
		send(t, o, "ping", "pong")
		assert.False(t, o.hasRoom(roomBytes), "too long to be sure")

		released := false
		go func() {
			_, err := o.write(make([]byte, 1500))
			released = err == nil
		}()
		synctest.Wait()
		assert.False(t, released, "what does not fit waits")
		close(conn.held)
		synctest.Wait()
		assert.True(t, released)
		assert.True(t, o.hasRoom(len(message)))
		assert.Equal(t, len("stuck")+sent*1000+len("pingpong")+1500, len(bytes.Join(conn.writes, nil)))
		o.stop()
	})
}

func TestTheFirstWriteNeverWaits(t *testing.T) {
	conn, o := newScripted(), new(outbox)
	conn.held = open
	o.init(conn)
	o.habit.trust = 1
	send(t, o, "HTTP/1.1 101")
	assert.Equal(t, []string{"HTTP/1.1 101"}, conn.written(), "its deadline bounds the upgrade")
}

func TestADeadlineIsForTheCallsThatFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Second)
		o, conn := newOutbox(false)
		conn.held = make(chan struct{})
		o.setDeadline(soon)
		send(t, o, "waits")
		synctest.Wait()
		send(t, o, full...)
		_, err := o.write(make([]byte, roomBytes))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, soon, time.Now())
		o.setDeadline(time.Time{})
		close(conn.held)
		o.settle()
		assert.Equal(t, []time.Time{{}, {}}, conn.deadlines, "what waits has none")

		o.setDeadline(soon)
		_, err = o.write(make([]byte, pieceBytes+1))
		require.NoError(t, err)
		assert.Equal(t, soon, conn.deadlines[2])
		o.stop()
	})
}

func TestOneWithADeadlineDoesNotWriteWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, conn := newOutbox(true)
		o.due = true // and on its way for long
		send(t, o, full...)
		o.setDeadline(time.Now().Add(time.Second))
		_, err := o.write([]byte("behind them"))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Empty(t, conn.written(), "the deadline is not meant for them")

		o.setDeadline(time.Time{})
		send(t, o, "behind them")
		assert.Equal(t, []string{full[0] + full[1], "behind them"}, conn.written())
	})
}

func TestWhatHasNoRoomKeepsNobodyAway(t *testing.T) {
	o, _ := newOutbox(true)
	assert.False(t, o.hasRoom(96<<20))
	assert.True(t, o.awaitSpare(125, time.Nanosecond), "pings go between the pieces of a large message")
	assert.True(t, o.hasRoom(roomBytes-frameOverhead-controls))
	assert.False(t, o.hasRoom(roomBytes))
	assert.Zero(t, o.promised, "a promise is for the next message")
}

func TestPingsAndPongsLeaveRoomForWhatWasPromisedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pong = 125
		o, conn := stuckOutbox(t)
		send(t, o, string(make([]byte, 1500)))
		require.True(t, o.hasRoom(1700))
		pongs := 0
		for o.awaitSpare(pong, time.Second) {
			send(t, o, string(make([]byte, pong)))
			pongs++
		}
		assert.NotZero(t, pongs)
		send(t, o, string(make([]byte, 1700))) // does not wait
		o.end()
		assert.False(t, o.awaitSpare(pong, time.Second))

		waited := make(chan bool)
		go func() { waited <- o.awaitSpare(pong, time.Hour) }()
		synctest.Wait()
		close(conn.held)
		assert.True(t, <-waited, "there is room once the peer reads")
		o.stop()
		assert.False(t, o.awaitSpare(pong, time.Hour), "and none when it is over")
	})
}

func TestAFailedWriteClosesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		o, conn := newOutbox(false)
		conn.failing = broken
		send(t, o, "lost")
		<-conn.closed
		assert.ErrorIs(t, o.failure(), broken)
		_, err := o.write([]byte("later"))
		assert.ErrorIs(t, err, broken)
		o.stop()
		assert.ErrorIs(t, o.failure(), broken, "the first reason stays")
	})
}

func TestWhatAPeerSaidBeforeItLeftCanStillBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, left := range []error{syscall.EPIPE, syscall.ECONNRESET} {
			o, conn := newOutbox(false)
			conn.failing = os.NewSyscallError("write", left)
			send(t, o, "lost")
			synctest.Wait()
			assert.ErrorIs(t, o.failure(), left)
			select {
			case <-conn.closed:
				t.Error("the connection is closed")
			default:
			}
			o.stop()
		}
	})
}

func TestAFailureFreesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, conn := stuckOutbox(t)
		send(t, o, full...)
		failed := make(chan error)
		go func() {
			_, err := o.write(make([]byte, roomBytes))
			failed <- err
		}()
		synctest.Wait()
		require.NoError(t, conn.Close())
		assert.ErrorIs(t, <-failed, net.ErrClosed)
		o.stop()
	})
}

func TestWhatWaitsIsWrittenBeforeTheConnectionCloses(t *testing.T) {
	t.Run("if the peer reads", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o, conn := newOutbox(false)
			send(t, o, "last words")
			o.settle()
			assert.Equal(t, []string{"last words"}, conn.written())
			o.stop()
		})
	})
	t.Run("and is given up a second later if not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o, conn := newOutbox(false)
			conn.held = make(chan struct{})
			send(t, o, "last words")
			began := time.Now()
			o.settle()
			assert.Equal(t, closeGrace, time.Since(began))
			o.stop()
		})
	})
	t.Run("and nothing is waited for if nothing waits", func(t *testing.T) {
		o, conn := newOutbox(true)
		send(t, o, "said")
		o.settle()
		assert.Equal(t, []string{"said"}, conn.written())
	})
}

func TestAStoppedOutboxWritesNothing(t *testing.T) {
	o, conn := newOutbox(true)
	o.stop()
	_, err := o.write([]byte("late"))
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.Empty(t, conn.written())
}

// Whatever the sizes and however the writes fall together, the stream is what was sent.
func TestAnOutboxKeepsTheStream(t *testing.T) {
	for _, roomy := range []bool{true, false} {
		o, conn := newOutbox(roomy)
		var sent []byte
		for i := range 3000 {
			if i%100 == 0 {
				o.mu.Lock()
				o.habit.trust = rand.IntN(3)
				o.mu.Unlock()
			}
			message := bytes.Repeat([]byte{byte(i)}, 1+rand.IntN(700)*rand.IntN(10))
			sent = append(sent, message...)
			send(t, o, string(message))
		}
		o.settle()
		assert.True(t, bytes.Equal(sent, bytes.Join(conn.writes, nil)))
		o.stop()
	}
}
