package ws_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
)

// fault is what happens to a connection when as many bytes as it lets through have
// passed in one direction.
type fault int

const (
	cut       fault = iota // both ends are closed, and the writer is told
	swallowed              // nothing arrives any more in either direction; nobody is told
)

// wire is a connection in memory whose bytes are counted in one direction.
type wire struct {
	fault fault

	mu     sync.Mutex
	left   int // bytes until the fault; negative never
	broken bool
	passed int
	ends   [2]net.Conn
}

// wireEnd is one end of a wire.
type wireEnd struct {
	net.Conn
	wire    *wire
	counted bool
	piece   func() int // largest size of the next write, nil for any
}

// newWire returns a wire and its ends. Bytes that the client writes are counted when
// up, else those of the host.
func newWire(fault fault, left int, up bool) (w *wire, client, host *wireEnd) {
	a, b := net.Pipe()
	w = &wire{fault: fault, left: left, ends: [2]net.Conn{a, b}}
	return w, &wireEnd{Conn: a, wire: w, counted: up}, &wireEnd{Conn: b, wire: w, counted: !up}
}

// allow returns how many of n bytes pass, and whether the wire is broken after them.
func (w *wire) allow(n int, counted bool) (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.broken:
		return 0, true
	case !counted || w.left < 0:
		if counted {
			w.passed += n
		}
		return n, false
	case n <= w.left:
		w.left -= n
		return n, false
	default:
		w.broken = true
		return w.left, true
	}
}

func (e *wireEnd) Write(p []byte) (int, error) {
	if e.piece == nil {
		return e.write(p)
	}
	written := 0
	for written < len(p) {
		n, err := e.write(p[written:min(len(p), written+e.piece())])
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

func (e *wireEnd) write(p []byte) (int, error) {
	pass, broken := e.wire.allow(len(p), e.counted)
	n, err := e.Conn.Write(p[:pass])
	if err != nil || !broken {
		return n, err
	}
	if e.wire.fault == swallowed {
		return len(p), nil
	}
	for _, end := range e.wire.ends {
		end.Close()
	}
	return n, io.ErrClosedPipe
}

// hijacked is the ResponseWriter of a request that came over a wire.
type hijacked struct {
	*httptest.ResponseRecorder
	conn   net.Conn
	reader *bufio.Reader
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(h.reader, bufio.NewWriter(h.conn)), nil
}

// upgradeWire is the host's end of an upgrade.
func upgradeWire(conn net.Conn) (*ws.Transport, error) {
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // as ReadHeaderTimeout
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return nil, err
	}
	return ws.Upgrade(hijacked{httptest.NewRecorder(), conn, reader}, request, nil)
}

// acceptWire is the host's end: upgrade and accept.
func acceptWire(conn net.Conn, cfg connect.ResponderConfig) (*connect.Responder, error) {
	transport, err := upgradeWire(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return connect.Accept(context.Background(), transport, cfg)
}

// dialWire is the client's end.
func dialWire(conn net.Conn, cfg connect.DialConfig) (*connect.RemoteAdapter, error) {
	dialer := websocket.Dialer{
		HandshakeTimeout: 5 * time.Second,
		NetDialContext:   func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	bare, _, err := dialer.Dial("ws://host/", nil)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return connect.Dial(context.Background(), ws.New(bare), cfg)
}

// book counts how often each request reached a handler.
type book struct {
	mu   sync.Mutex
	runs map[string]int
}

func (b *book) count(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[id]
}

// handler answers with its arguments, after it asked the caller for an echo if nested.
func (b *book) handler(nested bool) spoke.ToolHandler {
	return func(ctx context.Context, args json.RawMessage) (any, error) {
		var in struct{ ID string }
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		b.mu.Lock()
		b.runs[in.ID]++
		b.mu.Unlock()
		if !nested {
			return args, nil
		}
		caller, _ := connect.SessionFromContext(ctx)
		return caller.InvokeTool(ctx, echoTool, map[string]string{"ID": in.ID + " nested"})
	}
}

func (b *book) tools() spoke.ToolHandlers {
	return spoke.ToolHandlers{echoTool: b.handler(false), waitTool: b.handler(true)}
}

// bare leaves out what makes hellos long.
func bare(cfg connect.Config, b *book) connect.Config {
	cfg.Manifest.Tools = nil
	cfg.Tools = b.tools()
	cfg.HandshakeTimeout, cfg.InvokeTimeout, cfg.WriteTimeout = 5*time.Second, 5*time.Second, 10*time.Second
	return cfg
}

// settled holds a session over a wire, invokes both ways and asserts that every waiter
// is settled with a kind of kinds, that no handler ran twice and that nothing is left.
// It returns how many invokes succeeded.
func settled(t *testing.T, client, host *wireEnd, kinds ...string) (succeeded int) {
	t.Helper()
	b := &book{runs: make(map[string]int)}
	dial, respond := dialConfig(), responderConfig()
	dial.Config, respond.Config = bare(dial.Config, b), bare(respond.Config, b)
	respond.Nonces = connect.NewNonceStore(4)
	respond.SkipProofOfPossession = false
	var app *connect.RemoteAdapter
	var responder *connect.Responder
	var dialErr, acceptErr error
	var both sync.WaitGroup
	both.Go(func() { responder, acceptErr = acceptWire(host, respond) })
	both.Go(func() { app, dialErr = dialWire(client, dial) })
	both.Wait()
	for _, err := range []error{dialErr, acceptErr} {
		if failure, ok := errors.AsType[*connect.HandshakeError](err); ok {
			assert.Contains(t, []string{connect.CodeTransport, connect.CodeTimeout}, failure.Code)
		}
	}
	var mu sync.Mutex
	call := func(s *connect.Session, tool, id string) {
		_, err := s.InvokeTool(context.Background(), tool, map[string]string{"ID": id})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			assert.Contains(t, kinds, spoke.KindOf(err), "%v", err)
			return
		}
		succeeded++
		assert.Equal(t, 1, b.count(id))
	}
	var calls sync.WaitGroup
	if app != nil {
		calls.Go(func() { call(app.Session, waitTool, "app's") })
	}
	if responder != nil {
		calls.Go(func() { call(responder.Session, echoTool, "host's") })
	}
	calls.Wait()
	// A break that nobody was told of is noticed by its silence, or here by a goodbye.
	if app != nil {
		app.Close()
		app.Wait()
	}
	if responder != nil {
		responder.Wait()
	}
	for id, runs := range b.runs {
		assert.Equal(t, 1, runs, id)
	}
	return succeeded
}

func TestFaultAtEveryByte(t *testing.T) {
	for _, up := range []bool{true, false} {
		total := 0
		synctest.Test(t, func(t *testing.T) {
			w, client, host := newWire(cut, -1, up)
			require.Equal(t, 2, settled(t, client, host))
			total = w.passed
		})
		for kind, kinds := range map[fault][]string{
			cut:       {spoke.KindSessionClosed, spoke.KindTransport},
			swallowed: {spoke.KindSessionClosed, spoke.KindTransport, spoke.KindTimeout},
		} {
			name := map[fault]string{cut: "is cut", swallowed: "falls silent"}[kind]
			way := map[bool]string{true: "to the host", false: "to the app"}[up]
			t.Run(fmt.Sprintf("the connection %s after each of %d bytes on the way %s", name, total, way), func(t *testing.T) {
				for offset := 0; offset < total; offset += stride {
					if !t.Run(fmt.Sprint(offset), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							_, client, host := newWire(kind, offset, up)
							settled(t, client, host, kinds...)
						})
					}) {
						return
					}
				}
			})
		}
	}
}

func TestFaultPartialWrites(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return random.IntN(n)
			}
			piece := func() int {
				<-time.After(time.Duration(draw(3)) * time.Millisecond)
				return 1 + draw(7)
			}
			_, client, host := newWire(cut, -1, true)
			client.piece, host.piece = piece, piece
			assert.Equal(t, 2, settled(t, client, host))
		})
	}
}
