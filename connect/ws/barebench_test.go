package ws_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// bareBytes is a message of [plainExchange]: as long as the envelopes of a small round trip.
const bareBytes = bench.Envelope + ed25519.SignatureSize

// plainExchange is the least that a signed exchange over TCP can be: messages of one size, a
// number and a signature, without JSON, WebSocket, sessions, sequences, timeouts or
// handlers. What it leaves of the floor is the cost of the sockets and the scheduler.
type plainExchange struct {
	conn   net.Conn
	key    ed25519.PrivateKey
	public ed25519.PublicKey

	mu      sync.Mutex // guards writing
	waiting sync.Map   // channels by number
	numbers atomic.Uint64
}

var errBare = errors.New("a signature does not verify")

func (b *plainExchange) message(number uint64) []byte {
	m := make([]byte, bareBytes)
	binary.BigEndian.PutUint64(m, number)
	return m
}

// send signs and writes.
func (b *plainExchange) send(m []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	copy(m[bench.Envelope:], ed25519.Sign(b.key, m[:bench.Envelope]))
	_, err := b.conn.Write(m)
	return err
}

func (b *plainExchange) verify(m []byte) error {
	if !ed25519.Verify(b.public, m[:bench.Envelope], m[bench.Envelope:]) {
		return errBare
	}
	return nil
}

// read calls f for each message until the connection ends.
func (b *plainExchange) read(f func(m []byte, number uint64)) {
	r := bufio.NewReaderSize(b.conn, 16<<10)
	for {
		m := make([]byte, bareBytes)
		if _, err := io.ReadFull(r, m); err != nil {
			return
		}
		f(m, binary.BigEndian.Uint64(m))
	}
}

// serve answers each message that verifies.
func (b *plainExchange) serve() {
	b.read(func(m []byte, number uint64) {
		if b.verify(m) == nil {
			go func() { _ = b.send(b.message(number)) }()
		}
	})
}

// deliver hands each message to the call that waits for it.
func (b *plainExchange) deliver() {
	b.read(func(m []byte, number uint64) {
		if answer, ok := b.waiting.LoadAndDelete(number); ok {
			answer.(chan []byte) <- m
		}
	})
}

func (b *plainExchange) call(context.Context, int) error {
	number, answer := b.numbers.Add(1), make(chan []byte, 1)
	b.waiting.Store(number, answer)
	if err := b.send(b.message(number)); err != nil {
		return err
	}
	return b.verify(<-answer)
}

// BenchmarkBare is what a signed exchange reaches without a protocol, for comparison.
func BenchmarkBare(b *testing.B) {
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(b, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	near, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(b, err)
	far, err := listener.Accept()
	require.NoError(b, err)
	require.NoError(b, listener.Close())
	app, host := &plainExchange{conn: near, key: key, public: public}, &plainExchange{conn: far, key: key, public: public}
	var reading sync.WaitGroup
	reading.Go(host.serve)
	reading.Go(app.deliver)
	defer reading.Wait()
	defer far.Close()
	defer near.Close()
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("tcp/inflight=%d", n), func(b *testing.B) {
			benchtest.Contest(b, bench.Contest{
				Load: bench.Load{InFlight: n}, Work: app.call, Floor: benchtest.Floor(b, bench.Envelope, bench.Envelope),
			})
		})
	}
}
