package ws

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripted is a connection whose reads return what a test prepared, and whose writes it
// counts and can hold.
type scripted struct {
	net.Conn
	reads [][]byte
	asked []int // how long the buffers of the reads were

	mu      sync.Mutex
	writes  [][]byte
	closed  chan struct{}
	once    sync.Once
	held    chan struct{} // writes wait until it is closed; nil for none
	failing error

	deadlines []time.Time
}

func newScripted(reads ...[]byte) *scripted {
	return &scripted{reads: reads, closed: make(chan struct{})}
}

func (s *scripted) Read(p []byte) (int, error) {
	s.asked = append(s.asked, len(p))
	if len(s.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.reads[0])
	if s.reads[0] = s.reads[0][n:]; len(s.reads[0]) == 0 {
		s.reads = s.reads[1:]
	}
	return n, nil
}

func (s *scripted) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadlines = append(s.deadlines, t)
	return nil
}

func (s *scripted) Write(p []byte) (int, error) {
	select {
	case <-s.held:
	case <-s.closed:
		return 0, net.ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return 0, s.failing
	}
	s.writes = append(s.writes, bytes.Clone(p))
	return len(p), nil
}

func (s *scripted) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// written returns what was written so far, a text for each write.
func (s *scripted) written() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.writes {
		texts = append(texts, string(text))
	}
	return texts
}

var open = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

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

func TestAMessageAloneIsWrittenAtOnce(t *testing.T) {
	o, conn := newOutbox(true)
	send(t, o, "one", "two")
	assert.Equal(t, []string{"one", "two"}, conn.written())
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
		o, conn := newOutbox(false)
		conn.held = make(chan struct{})
		message := string(make([]byte, 1000))
		send(t, o, message)
		synctest.Wait() // it is being written
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
		assert.Equal(t, (1+sent)*1000+len("pingpong")+1500, len(bytes.Join(conn.writes, nil)))
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
		o, conn := newOutbox(false)
		conn.held = make(chan struct{})
		soon := time.Now().Add(time.Second)
		o.setDeadline(soon)
		send(t, o, "waits")
		synctest.Wait()
		send(t, o, string(make([]byte, roomBytes)), string(make([]byte, roomBytes)))
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
		o, conn := newOutbox(false)
		conn.held = make(chan struct{})
		send(t, o, "stuck")
		synctest.Wait()
		send(t, o, string(make([]byte, roomBytes)), string(make([]byte, roomBytes)))
		o.setDeadline(time.Now().Add(time.Hour))
		sent := make(chan error)
		go func() {
			_, err := o.write(make([]byte, roomBytes))
			sent <- err
		}()
		synctest.Wait()
		close(conn.held)
		require.NoError(t, <-sent)
		o.settle()
		for _, deadline := range conn.deadlines {
			assert.Zero(t, deadline)
		}
		o.stop()
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

func TestAConnectionThatIsClosedWritesWhatWaitsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := newScripted()
		conn.held = open
		c := newBatchConn(conn)
		c.out.begun = true
		_, err := c.Write([]byte("last words"))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		assert.Equal(t, []string{"last words"}, conn.written())
		assert.Same(t, conn, c.NetConn())
		c.out.stop()
	})
}

func TestPingsAndPongsLeaveRoomForWhatWasPromisedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pong = 125
		o, conn := newOutbox(false)
		conn.held = make(chan struct{})
		send(t, o, "stuck")
		synctest.Wait()
		send(t, o, string(make([]byte, 1500)))
		require.True(t, o.hasRoom(1700))
		pongs := 0
		for o.awaitSpare(pong, time.Second) {
			send(t, o, string(make([]byte, pong)))
			pongs++
		}
		assert.NotZero(t, pongs)
		send(t, o, string(make([]byte, 1700))) // does not wait
		o.sent()
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

func TestWhatIsClosedLiesBelowTLS(t *testing.T) {
	conn, o := newScripted(), new(outbox)
	o.init(tls.Server(conn, nil))
	assert.Same(t, conn, o.socket, "to close TLS is to write, which a peer that does not read holds up")
}

func TestAFailureFreesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, conn := newOutbox(false)
		conn.held = make(chan struct{})
		send(t, o, "stuck")
		synctest.Wait()
		send(t, o, string(make([]byte, roomBytes)), string(make([]byte, roomBytes)))
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

func TestAnInboxReadsAheadWhenMoreHasCome(t *testing.T) {
	const asked = 100
	read := func(in *inbox, conn net.Conn) string {
		p := make([]byte, asked)
		n, err := in.read(conn, p)
		require.NoError(t, err)
		return string(p[:n])
	}
	short, long := bytes.Repeat([]byte("s"), asked-1), bytes.Repeat([]byte("l"), 3*asked)
	conn, in := newScripted(short, long, short), new(inbox)

	assert.Equal(t, string(short), read(in, conn))
	assert.Equal(t, string(long[:asked]), read(in, conn))
	assert.Equal(t, string(long[:asked]), read(in, conn))
	assert.Equal(t, string(long[:asked]), read(in, conn))
	assert.Nil(t, in.piece, "an idle connection holds no memory")
	assert.Equal(t, string(short), read(in, conn))
	assert.Equal(t, []int{asked, asked, pieceBytes, asked}, conn.asked)
}

func TestAnErrorComesAfterWhatWasReadAhead(t *testing.T) {
	full, rest := bytes.Repeat([]byte("f"), 100), bytes.Repeat([]byte("r"), 150)
	in := new(inbox)
	conn := &lastRead{newScripted(full, rest)}
	for i, want := range []struct {
		text string
		err  error
	}{{string(full), nil}, {string(rest[:100]), nil}, {string(rest[100:]), io.EOF}} {
		p := make([]byte, 100)
		n, err := in.read(conn, p)
		assert.Equal(t, want.text, string(p[:n]))
		assert.Equal(t, want.err, err, "read %d", i)
	}
}

// lastRead tells the end together with the last bytes, as crypto/tls may.
type lastRead struct{ *scripted }

func (l *lastRead) Read(p []byte) (int, error) {
	n, err := l.scripted.Read(p)
	if len(l.reads) == 0 {
		err = io.EOF
	}
	return n, err
}

func TestTheRestOfALargeMessageIsNotCopied(t *testing.T) {
	large, small := make([]byte, readBufferSize+1), make([]byte, 100)
	conn, in := newScripted(large, small, large, small), new(inbox)
	for _, size := range []int{len(large), readBufferSize, len(large), readBufferSize} {
		_, err := in.read(conn, make([]byte, size))
		require.NoError(t, err)
		assert.Nil(t, in.piece)
	}
	assert.Equal(t, []int{len(large), readBufferSize, len(large), readBufferSize}, conn.asked, "that it came whole says nothing")
}

// Whatever is asked for and comes, the stream is what was sent.
func TestAnInboxKeepsTheStream(t *testing.T) {
	sent := make([]byte, 200_000)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	conn, in := newScripted(), new(inbox)
	for rest := sent; len(rest) > 0; {
		n := min(len(rest), 1+rand.IntN(3000))
		conn.reads = append(conn.reads, rest[:n])
		rest = rest[n:]
	}
	var got []byte
	for {
		p := make([]byte, 1+rand.IntN(1500))
		n, err := in.read(conn, p)
		got = append(got, p[:n]...)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	assert.True(t, bytes.Equal(sent, got))
	assert.Nil(t, in.piece)
}
