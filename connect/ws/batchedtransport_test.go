package ws

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dialed returns a transport to a peer that says nothing.
func dialed(t *testing.T) *Transport {
	t.Helper()
	peers := make(chan *Transport, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, err := Upgrade(w, r, nil); assert.NoError(t, err) {
			peers <- peer
		}
	}))
	t.Cleanup(s.Close)
	transport, err := Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil)
	require.NoError(t, err)
	peer := <-peers
	t.Cleanup(func() { transport.Close(); peer.Close() })
	return transport
}

func TestAPromiseOfRoomEndsWithTheMessage(t *testing.T) {
	transport := dialed(t)
	require.True(t, transport.HasRoom(100))
	assert.NotZero(t, transport.out.(*outbox).promised)
	require.NoError(t, transport.Send(t.Context(), make([]byte, 100)))
	assert.Zero(t, transport.out.(*outbox).promised)
}

func TestWhoReadsIsToldWhyAMessageCouldNotBeWritten(t *testing.T) {
	transport, broken := dialed(t), errors.New("broken")
	transport.out.(*outbox).err = broken
	transport.abort()
	_, err := transport.Recv(t.Context())
	assert.ErrorIs(t, err, broken)
	assert.ErrorIs(t, transport.readError(io.ErrClosedPipe), broken)
	assert.ErrorIs(t, transport.readError(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF)
}

// crowded has no room for a ping or a pong.
type crowded struct{ ledger }

func (crowded) awaitSpare(int, time.Duration) bool { return false }

func TestWithoutRoomPingsAndPongsAreLeftOut(t *testing.T) {
	p := &pulse{out: crowded{}, interval: time.Hour} // to write would panic
	p.timer = time.AfterFunc(time.Hour, func() {})
	p.pong("hello")
	p.beat()
	p.stop()
}
