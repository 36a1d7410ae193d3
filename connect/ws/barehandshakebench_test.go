package ws_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// plainDoor opens connections as package websocket does by itself and passes three signed
// messages over each, as long as those of a handshake, without JSON, manifests, nonces or
// timeouts. What it leaves of the floor is the cost of the connection and the upgrade.
type plainDoor struct {
	url    string
	key    ed25519.PrivateKey
	public ed25519.PublicKey

	upgrader websocket.Upgrader
	dialer   websocket.Dialer

	mu    sync.Mutex
	open  []*websocket.Conn
	holds sync.WaitGroup // the server's connections
}

func newPlainDoor(tb testing.TB) *plainDoor {
	tb.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(tb, err)
	const read, write = 1 << 10, 4 << 10 // as [ws.Dial] has them
	pool := new(sync.Pool)
	d := &plainDoor{
		key: key, public: public,
		upgrader: websocket.Upgrader{ReadBufferSize: read, WriteBufferSize: write, WriteBufferPool: pool},
		dialer:   websocket.Dialer{ReadBufferSize: read, WriteBufferSize: write, WriteBufferPool: pool},
	}
	server := httptest.NewServer(http.HandlerFunc(d.serve))
	tb.Cleanup(server.Close)
	d.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return d
}

func (d *plainDoor) serve(w http.ResponseWriter, r *http.Request) {
	conn, err := d.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	if d.receive(conn) != nil || d.send(conn, helloBytes) != nil || d.send(conn, sessionBytes) != nil {
		conn.Close()
		return
	}
	d.holds.Go(func() { // and leave the request's goroutine and its buffers
		defer conn.Close()
		_, _, _ = conn.NextReader()
	})
}

func (d *plainDoor) send(conn *websocket.Conn, size int) error {
	m := make([]byte, size+ed25519.SignatureSize)
	copy(m[size:], ed25519.Sign(d.key, m[:size]))
	return conn.WriteMessage(websocket.TextMessage, m)
}

func (d *plainDoor) receive(conn *websocket.Conn) error {
	_, m, err := conn.ReadMessage()
	if err != nil {
		return err
	}
	size := len(m) - ed25519.SignatureSize
	if !ed25519.Verify(d.public, m[:size], m[size:]) {
		return errBare
	}
	return nil
}

func (d *plainDoor) enter(ctx context.Context, _ int) error {
	conn, _, err := d.dialer.DialContext(ctx, d.url, nil)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.open = append(d.open, conn)
	d.mu.Unlock()
	if err := d.send(conn, helloBytes); err != nil {
		return err
	}
	if err := d.receive(conn); err != nil {
		return err
	}
	return d.receive(conn)
}

func (d *plainDoor) clear() {
	for _, conn := range d.open {
		conn.Close()
	}
	d.holds.Wait()
	d.open = nil
}

// BenchmarkBareHandshake is what connecting reaches without a protocol, for comparison.
func BenchmarkBareHandshake(b *testing.B) {
	d := newPlainDoor(b)
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("ws/inflight=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			benchtest.Contest(b, bench.Contest{
				Load: bench.Load{InFlight: n}, Rounds: doorRounds(b.N),
				Work: d.enter, Floor: benchtest.Floor(b, helloBytes, helloBytes, sessionBytes),
				After: d.clear,
			})
		})
	}
}
