package ws

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

func TestWhatIsNoPayloadIsReadSlowlyInTheLongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, in, began := endless{}, new(inbox), time.Now()
		p := make([]byte, 1<<10)
		read := func(times int) {
			for range times {
				_, err := in.read(conn, p)
				require.NoError(t, err)
			}
		}
		read(freeOverhead/len(p) + 1)
		assert.Zero(t, time.Since(began))
		read(10)
		assert.Equal(t, 10*overheadPause, time.Since(began))

		began = time.Now()
		message := in.begin(bytes.NewReader(make([]byte, 20)))
		_, err := readMessage(message)
		require.NoError(t, err)
		read(freeOverhead / len(p))
		assert.Zero(t, time.Since(began), "a message came")

		_, err = readMessage(in.begin(bytes.NewReader(nil)))
		require.NoError(t, err)
		message = in.begin(io.LimitReader(rand.NewChaCha8([32]byte{}), 1<<30))
		for range 4 * freeOverhead / len(p) { // of a long message, each with its payload
			read(1)
			_, err := message.Read(p[:len(p)-14])
			require.NoError(t, err)
		}
		assert.Zero(t, time.Since(began), "and a long one is no overhead")
	})
}

// endless is a connection on which more comes.
type endless struct{ net.Conn }

func (endless) Read(p []byte) (int, error) { return len(p), nil }

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

	conn, in = newScripted(small, large), new(inbox)
	for _, size := range []int{len(small), len(large)} {
		_, err := in.read(conn, make([]byte, size))
		require.NoError(t, err)
	}
	assert.Equal(t, []int{len(small), len(large)}, conn.asked)
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
