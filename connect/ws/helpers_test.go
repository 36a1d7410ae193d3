package ws_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(attackerEnv); name != "" {
		attackProcess(name)
	}
	goleak.VerifyTestMain(m)
}

const (
	echoTool = "tools.test.echo"
	waitTool = "tools.test.wait"
)

func identityOf(n byte) *connect.Identity {
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{n}, 32))
	if err != nil {
		panic(err)
	}
	return id
}

// silent is the log of a server whose errors a test provokes.
var silent = log.New(io.Discard, "", 0)

var appID, hostID = identityOf(1), identityOf(2)

func config(id, peer *connect.Identity) connect.Config {
	m := spoke.HostCapabilityManifest{
		SchemaVersion: 1, HostID: "label", Roles: []string{"input-source"},
		Capabilities: []string{connect.CapabilityBaseline, echoTool, waitTool}, Namespaces: []string{"test"},
	}
	for _, tool := range []string{echoTool, waitTool} {
		m.Tools = append(m.Tools, spoke.ToolDescriptor{SchemaVersion: 1, CapabilityID: tool, Op: tool, Description: "For tests."})
	}
	return connect.Config{
		Identity: id, Manifest: m, Allow: []connect.PeerID{peer.PeerID()},
		// Slow machines run these tests as well; a test that waits sets its own.
		HandshakeTimeout: time.Minute, InvokeTimeout: time.Minute, WriteTimeout: time.Minute,
		Tools: spoke.ToolHandlers{
			echoTool: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil },
			waitTool: func(ctx context.Context, _ json.RawMessage) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		},
	}
}

func dialConfig() connect.DialConfig {
	return connect.DialConfig{Config: config(appID, hostID), Remote: hostID.PeerID()}
}

func responderConfig() connect.ResponderConfig {
	cfg := connect.ResponderConfig{Config: config(hostID, appID), SkipProofOfPossession: true}
	cfg.Nonces = connect.NewNonceStore(0)
	return cfg
}

// accepted is what a server made of one connection.
type accepted struct {
	host *connect.Responder
	err  error
}

// server is an HTTP server on the loopback that hands out what it accepts.
type server struct {
	*httptest.Server
	url      string // ws://…
	sessions chan accepted
}

// newServer serves sessions over transports that open makes.
func newServer(t testing.TB, cfg connect.ResponderConfig, open func(http.ResponseWriter, *http.Request) (connect.Transport, error)) *server {
	t.Helper()
	s := prepareServer(cfg, open)
	s.start(t)
	return s
}

// prepareServer is newServer before it listens.
func prepareServer(cfg connect.ResponderConfig, open func(http.ResponseWriter, *http.Request) (connect.Transport, error)) *server {
	s := &server{sessions: make(chan accepted, 16)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := open(w, r)
		if err != nil {
			s.sessions <- accepted{err: err}
			return
		}
		host, err := connect.Accept(context.Background(), transport, cfg)
		s.sessions <- accepted{host, err}
	}))
	return s
}

func (s *server) start(t testing.TB) {
	s.Start()
	t.Cleanup(s.Close)
	s.url = "ws" + strings.TrimPrefix(s.URL, "http")
}

func upgrade(w http.ResponseWriter, r *http.Request) (connect.Transport, error) {
	return ws.Upgrade(w, r, nil)
}

// newTransportServer hands out the transports it upgrades.
func newTransportServer(t testing.TB, options *ws.UpgradeOptions) (url string, transports chan *ws.Transport) {
	t.Helper()
	transports = make(chan *ws.Transport, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if transport, err := ws.Upgrade(w, r, options); err == nil {
			transports <- transport
		}
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http"), transports
}

// soon receives from ch and fails the test when nothing comes.
func soon[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(time.Minute):
		require.Fail(t, "nothing came")
		panic("unreachable")
	}
}

// waitOf returns how a session ended.
func waitOf(t testing.TB, s *connect.Session) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	return soon(t, ended)
}

// hangUp ends a session and waits for all of it.
func hangUp(t testing.TB, s *connect.Session) {
	t.Helper()
	s.Close()
	waitOf(t, s)
}

// transportPair returns both ends of a connection.
func transportPair(t testing.TB) (client, host *ws.Transport) {
	t.Helper()
	url, transports := newTransportServer(t, nil)
	client, err := ws.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	host = soon(t, transports)
	t.Cleanup(func() {
		client.Close()
		host.Close()
	})
	return client, host
}

// rawPair returns a transport and the bare connection at its other end, which is the
// client's or the host's.
func rawPair(t testing.TB, raw string) (*ws.Transport, *websocket.Conn) {
	t.Helper()
	if raw == "client" {
		url, transports := newTransportServer(t, nil)
		conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
		require.NoError(t, err)
		host := soon(t, transports)
		t.Cleanup(func() {
			conn.Close()
			host.Close()
		})
		return host, conn
	}
	conns := make(chan *websocket.Conn, 1)
	client, err := ws.Dial(t.Context(), newBareServer(t, conns), nil)
	require.NoError(t, err)
	conn := soon(t, conns)
	t.Cleanup(func() {
		conn.Close()
		client.Close()
	})
	return client, conn
}

// newBareServer hands out bare connections and returns its address.
func newBareServer(t testing.TB, conns chan<- *websocket.Conn) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := new(websocket.Upgrader).Upgrade(w, r, nil); err == nil {
			conns <- conn
		}
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

// eachRaw runs f for a transport of either side.
func eachRaw(t *testing.T, f func(t *testing.T, transport *ws.Transport, raw *websocket.Conn)) {
	t.Helper()
	for _, raw := range []string{"client", "host"} {
		t.Run("the peer is the "+raw, func(t *testing.T) {
			transport, conn := rawPair(t, raw)
			f(t, transport, conn)
		})
	}
}

// masks reports whether the peer of [eachRaw] is a client: a client masks what it sends.
func masks(t testing.TB) bool { return strings.HasSuffix(t.Name(), "client") }

// frameHeader is the header of a binary message of size bytes, of which nothing needs
// to follow.
func frameHeader(masked bool, size uint64) []byte {
	header := binary.BigEndian.AppendUint64([]byte{0x82, 127}, size)
	if masked {
		header[1] |= 0x80
		header = append(header, 0, 0, 0, 0)
	}
	return header
}

// styled is a connection whose frames are sent in a style of the test's.
type styled struct {
	conn *websocket.Conn
	send func(conn *websocket.Conn, frame []byte) error

	mu    sync.Mutex
	kinds map[int]int // messages received, by their type
}

func newStyled(conn *websocket.Conn, send func(*websocket.Conn, []byte) error) *styled {
	return &styled{conn: conn, send: send, kinds: make(map[int]int)}
}

func (s *styled) Send(_ context.Context, frame []byte) error { return s.send(s.conn, frame) }

func (s *styled) Recv(context.Context) ([]byte, error) {
	kind, frame, err := s.conn.ReadMessage()
	if err == nil {
		s.mu.Lock()
		s.kinds[kind]++
		s.mu.Unlock()
	}
	return frame, err
}

func (s *styled) Close() error { return s.conn.Close() }

// received returns how many messages came and how many of them were binary.
func (s *styled) received() (all, binary int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.kinds {
		all += n
	}
	return all, s.kinds[websocket.BinaryMessage]
}

func sendBinary(conn *websocket.Conn, frame []byte) error {
	return conn.WriteMessage(websocket.BinaryMessage, frame)
}

func sendText(conn *websocket.Conn, frame []byte) error {
	return conn.WriteMessage(websocket.TextMessage, frame)
}

// sendPieces sends a message in fragments of the connection's write buffer, with a
// ping between them.
func sendPieces(kind int) func(*websocket.Conn, []byte) error {
	return func(conn *websocket.Conn, frame []byte) error {
		w, err := conn.NextWriter(kind)
		if err != nil {
			return err
		}
		for len(frame) > 0 {
			n := min(len(frame), 50)
			if _, err := w.Write(frame[:n]); err != nil {
				return err
			}
			frame = frame[n:]
			if err := conn.WriteControl(websocket.PingMessage, []byte("?"), time.Time{}); err != nil {
				return err
			}
		}
		return w.Close()
	}
}

// dialStyled opens a bare connection and wraps it.
func dialStyled(t testing.TB, url string, send func(*websocket.Conn, []byte) error) *styled {
	t.Helper()
	dialer := websocket.Dialer{WriteBufferSize: 64}
	conn, _, err := dialer.DialContext(t.Context(), url, nil)
	require.NoError(t, err)
	return newStyled(conn, send)
}

// openStyled holds a session with a server over a styled connection.
func openStyled(t testing.TB, s *server, send func(*websocket.Conn, []byte) error) (*styled, *connect.RemoteAdapter, *connect.Responder) {
	t.Helper()
	transport := dialStyled(t, s.url, send)
	app, err := connect.Dial(t.Context(), transport, dialConfig())
	require.NoError(t, err)
	result := soon(t, s.sessions)
	require.NoError(t, result.err)
	return transport, app, result.host
}

// open holds a session with a server.
func open(t testing.TB, s *server, cfg connect.DialConfig) (*connect.RemoteAdapter, *connect.Responder) {
	t.Helper()
	transport, err := ws.Dial(t.Context(), s.url, nil)
	require.NoError(t, err)
	app, err := connect.Dial(t.Context(), transport, cfg)
	require.NoError(t, err)
	result := soon(t, s.sessions)
	require.NoError(t, result.err)
	return app, result.host
}
