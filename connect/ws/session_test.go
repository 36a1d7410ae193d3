package ws_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestSession(t *testing.T) {
	s := newServer(t, responderConfig(), upgrade)
	app, host := open(t, s, dialConfig())
	defer hangUp(t, app.Session)
	defer hangUp(t, host.Session)
	assert.Equal(t, app.ID(), host.ID())

	t.Run("both sides invoke each other", func(t *testing.T) {
		for _, caller := range []*connect.Session{app.Session, host.Session} {
			got, err := caller.InvokeTool(t.Context(), echoTool, map[string]int{"n": 1})
			require.NoError(t, err)
			assert.Equal(t, `{"n":1}`, string(got))
		}
	})

	t.Run("a frame may be far larger than the buffers and than a hello", func(t *testing.T) {
		for _, caller := range []*connect.Session{app.Session, host.Session} {
			for _, size := range []int{300 << 10, 1 << 20} {
				got, err := caller.InvokeTool(t.Context(), echoTool, map[string]string{"text": strings.Repeat("x", size)})
				require.NoError(t, err)
				assert.Greater(t, len(got), size)
			}
		}
	})

	t.Run("200 invokes at once in both directions find their answers", func(t *testing.T) {
		var all sync.WaitGroup
		for n := range 200 {
			for _, caller := range []*connect.Session{app.Session, host.Session} {
				all.Go(func() {
					want := fmt.Sprintf(`{"n":%d,"of":%t}`, n, caller.IsInitiator())
					got, err := caller.InvokeTool(t.Context(), echoTool, json.RawMessage(want))
					if assert.NoError(t, err) {
						assert.Equal(t, want, string(got))
					}
				})
			}
		}
		all.Wait()
	})
}

func TestStylesOfMessages(t *testing.T) {
	styles := map[string]func(*websocket.Conn, []byte) error{
		"binary messages":               sendBinary,
		"text messages":                 sendText,
		"binary messages in fragments":  sendPieces(websocket.BinaryMessage),
		"text messages in fragments":    sendPieces(websocket.TextMessage),
		"text and binary, as they like": alternating(),
	}
	talk := func(t *testing.T, app *connect.RemoteAdapter, host *connect.Responder, transport *styled) {
		for _, caller := range []*connect.Session{app.Session, host.Session} {
			got, err := caller.InvokeTool(t.Context(), echoTool, map[string]string{"text": strings.Repeat("x", 5000)})
			require.NoError(t, err)
			assert.Greater(t, len(got), 5000)
		}
		hangUp(t, app.Session)
		hangUp(t, host.Session)
		all, binary := transport.received()
		assert.GreaterOrEqual(t, all, 2)
		assert.Equal(t, all, binary, "not all that was sent was binary")
	}
	for name, send := range styles {
		t.Run("a host accepts "+name+" and sends binary ones", func(t *testing.T) {
			s := newServer(t, responderConfig(), upgrade)
			transport, app, host := openStyled(t, s, send)
			talk(t, app, host, transport)
		})
		t.Run("a dialer accepts "+name+" and sends binary ones", func(t *testing.T) {
			transports := make(chan *styled, 1)
			s := newServer(t, responderConfig(), func(w http.ResponseWriter, r *http.Request) (connect.Transport, error) {
				conn, err := (&websocket.Upgrader{WriteBufferSize: 64}).Upgrade(w, r, nil)
				if err != nil {
					return nil, err
				}
				transport := newStyled(conn, send)
				transports <- transport
				return transport, nil
			})
			app, host := open(t, s, dialConfig())
			talk(t, app, host, soon(t, transports))
		})
	}
}

func alternating() func(*websocket.Conn, []byte) error {
	var n atomic.Int32
	return func(conn *websocket.Conn, frame []byte) error {
		if n.Add(1)%2 == 0 {
			return sendText(conn, frame)
		}
		return sendBinary(conn, frame)
	}
}

func TestOversizedMessages(t *testing.T) {
	const (
		beforeLimit = 256 << 10
		afterLimit  = 4 << 20
	)
	requireTooBig := func(t *testing.T, err error) {
		closed, ok := errors.AsType[*websocket.CloseError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, websocket.CloseMessageTooBig, closed.Code)
	}

	t.Run("before the session is established a host refuses more than 256 KiB", func(t *testing.T) {
		s := newServer(t, responderConfig(), upgrade)
		conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), s.url, nil)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.NetConn().Write(frameHeader(true, beforeLimit+1))
		require.NoError(t, err)
		requireMalformed(t, soon(t, s.sessions).err)
		_, _, err = conn.ReadMessage()
		requireTooBig(t, err)
	})

	t.Run("before the session is established a dialer refuses more than 256 KiB", func(t *testing.T) {
		transport, conn := rawPair(t, "host")
		_, err := conn.NetConn().Write(frameHeader(false, beforeLimit+1))
		require.NoError(t, err)
		_, err = connect.Dial(t.Context(), transport, dialConfig())
		requireMalformed(t, err)
		for err = nil; err == nil; { // the dialer's hello, then its goodbye
			_, _, err = conn.ReadMessage()
		}
		requireTooBig(t, err)
	})

	t.Run("afterwards more than 4 MiB ends the session", func(t *testing.T) {
		s := newServer(t, responderConfig(), upgrade)
		transport, app, host := openStyled(t, s, sendBinary)
		_, err := transport.conn.NetConn().Write(frameHeader(true, afterLimit+1))
		require.NoError(t, err)

		err = waitOf(t, host.Session)
		require.ErrorIs(t, err, connect.ErrSessionClosed)
		require.ErrorIs(t, err, connect.ErrMalformedFrame)
		err = waitOf(t, app.Session)
		require.ErrorIs(t, err, connect.ErrSessionClosed)
		requireTooBig(t, err)
	})

	t.Run("a sender with a larger limit than the receiver loses the session", func(t *testing.T) {
		respond := responderConfig()
		respond.Limits.FrameBytes = 64 << 10
		s := newServer(t, respond, upgrade)
		app, host := open(t, s, dialConfig())
		_, err := app.InvokeTool(t.Context(), echoTool, map[string]string{"text": strings.Repeat("x", 100<<10)})
		require.ErrorIs(t, err, connect.ErrSessionClosed)
		require.ErrorIs(t, waitOf(t, host.Session), connect.ErrMalformedFrame)
		require.ErrorIs(t, waitOf(t, app.Session), connect.ErrSessionClosed)
	})

	t.Run("a frame beyond the sender's own limit is not sent", func(t *testing.T) {
		dial := dialConfig()
		dial.Limits.FrameBytes = 64 << 10
		app, host := open(t, newServer(t, responderConfig(), upgrade), dial)
		defer hangUp(t, app.Session)
		defer hangUp(t, host.Session)
		_, err := app.InvokeTool(t.Context(), echoTool, map[string]string{"text": strings.Repeat("x", 64<<10)})
		assert.Equal(t, spoke.CodeInvalidInput, rejectOf(t, err).Code)
		_, err = app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	})
}

func requireMalformed(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, connect.ErrMalformedFrame)
	failure, ok := errors.AsType[*connect.HandshakeError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, connect.CodeMalformed, failure.Code)
}

func rejectOf(t testing.TB, err error) *spoke.Reject {
	t.Helper()
	reject, ok := errors.AsType[*spoke.Reject](err)
	require.True(t, ok, "%v", err)
	return reject
}

func TestHandshakeOverWebSocket(t *testing.T) {
	t.Run("a stranger is told goodbye and nothing else", func(t *testing.T) {
		respond := responderConfig()
		respond.Allow = nil
		s := newServer(t, respond, upgrade)
		transport, err := ws.Dial(t.Context(), s.url, nil)
		require.NoError(t, err)
		_, err = connect.Dial(t.Context(), transport, dialConfig())
		failure, ok := errors.AsType[*connect.HandshakeError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, connect.CodeTransport, failure.Code)
		assert.ErrorIs(t, err, io.EOF)
		refusal, ok := errors.AsType[*connect.HandshakeError](soon(t, s.sessions).err)
		require.True(t, ok)
		assert.Equal(t, connect.CodePeerNotAllowed, refusal.Code)
	})

	t.Run("a silent dialer is left in time", func(t *testing.T) {
		respond := responderConfig()
		respond.HandshakeTimeout = 50 * time.Millisecond
		s := newServer(t, respond, upgrade)
		conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), s.url, nil)
		require.NoError(t, err)
		defer conn.Close()
		requireTimeout(t, soon(t, s.sessions).err)
		_, _, err = conn.ReadMessage()
		assert.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
	})

	t.Run("a silent host is left in time", func(t *testing.T) {
		transport, _ := rawPair(t, "host")
		cfg := dialConfig()
		cfg.HandshakeTimeout = 50 * time.Millisecond
		_, err := connect.Dial(t.Context(), transport, cfg)
		requireTimeout(t, err)
	})

	t.Run("a caller that gives up leaves at once", func(t *testing.T) {
		transport, conn := rawPair(t, "host")
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := connect.Dial(ctx, transport, dialConfig())
			failed <- err
		}()
		_, _, err := conn.ReadMessage() // its hello
		require.NoError(t, err)
		cancel()
		require.ErrorIs(t, soon(t, failed), context.Canceled)
	})

	t.Run("the time of the handshake does not bound the writes after it", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s := newServer(t, responderConfig(), upgrade)
		transport, err := ws.Dial(ctx, s.url, nil)
		require.NoError(t, err)
		app, err := connect.Dial(ctx, transport, dialConfig())
		require.NoError(t, err)
		host := soon(t, s.sessions).host
		defer hangUp(t, app.Session)
		defer hangUp(t, host.Session)
		<-ctx.Done()
		_, err = app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		_, err = host.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	})
}

func requireTimeout(t testing.TB, err error) {
	t.Helper()
	failure, ok := errors.AsType[*connect.HandshakeError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, connect.HandshakeTimeout, failure.Kind)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// waiting starts an invoke that the peer does not answer, and returns once the peer
// serves it.
func waiting(t testing.TB, cfg *connect.Config) (serving chan struct{}, invoke func(*connect.Session) chan error) {
	t.Helper()
	serving = make(chan struct{}, 1)
	cfg.Tools = spoke.ToolHandlers{waitTool: func(ctx context.Context, _ json.RawMessage) (any, error) {
		serving <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	return serving, func(caller *connect.Session) chan error {
		failed := make(chan error, 1)
		go func() {
			_, err := caller.InvokeTool(context.Background(), waitTool, nil)
			failed <- err
		}()
		soon(t, serving)
		return failed
	}
}

func TestPeerLeaves(t *testing.T) {
	t.Run("a goodbye ends the other side with EOF and fails what waits", func(t *testing.T) {
		for _, leaver := range []string{"app", "host"} {
			t.Run("of the "+leaver, func(t *testing.T) {
				dial, respond := dialConfig(), responderConfig()
				_, invoke := waiting(t, &dial.Config)
				if leaver == "host" {
					_, invoke = waiting(t, &respond.Config)
				}
				app, host := open(t, newServer(t, respond, upgrade), dial)
				leaving, left := app.Session, host.Session
				if leaver == "host" {
					leaving, left = host.Session, app.Session
				}
				failed := invoke(left)
				require.NoError(t, leaving.Close())
				require.NoError(t, waitOf(t, leaving))

				err := waitOf(t, left)
				require.ErrorIs(t, err, connect.ErrSessionClosed)
				require.ErrorIs(t, err, io.EOF)
				reject := rejectOf(t, soon(t, failed))
				assert.Equal(t, spoke.KindSessionClosed, reject.Kind())
				assert.ErrorIs(t, reject, connect.ErrSessionClosed)
				assert.Equal(t, connect.Closed, left.State())
			})
		}
	})

	t.Run("an HTTP server that shuts down keeps its sessions, which end on their own", func(t *testing.T) {
		s := newServer(t, responderConfig(), upgrade)
		app, host := open(t, s, dialConfig())
		require.NoError(t, s.Config.Shutdown(t.Context()))
		_, err := app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		host.Close()
		require.ErrorIs(t, waitOf(t, app.Session), io.EOF)
		require.NoError(t, waitOf(t, host.Session))
	})

	for name, vanish := range map[string]func(*net.TCPConn){
		"closes the connection": func(*net.TCPConn) {},
		"resets the connection": func(conn *net.TCPConn) { _ = conn.SetLinger(0) },
	} {
		t.Run("a peer that "+name+" amid a frame ends the session", func(t *testing.T) {
			s := newServer(t, responderConfig(), upgrade)
			transport, app, host := openStyled(t, s, sendBinary)
			// The app serves the tool and never answers.
			failed := make(chan error, 1)
			go func() {
				_, err := host.InvokeTool(context.Background(), waitTool, nil)
				failed <- err
			}()
			conn := transport.conn.NetConn().(*net.TCPConn)
			_, err := conn.Write(append(frameHeader(true, 1000), `{"session_id":`...))
			require.NoError(t, err)
			vanish(conn)
			require.NoError(t, conn.Close())

			err = waitOf(t, host.Session)
			require.ErrorIs(t, err, connect.ErrSessionClosed)
			assert.NotErrorIs(t, err, io.EOF)
			require.ErrorIs(t, soon(t, failed), connect.ErrSessionClosed)
			require.ErrorIs(t, waitOf(t, app.Session), connect.ErrSessionClosed)
		})
	}

	t.Run("Close may be called by many while invokes come and go", func(t *testing.T) {
		app, host := open(t, newServer(t, responderConfig(), upgrade), dialConfig())
		var callers, closers sync.WaitGroup
		busy := make(chan struct{}, 2)
		for _, caller := range []*connect.Session{app.Session, host.Session} {
			for worker := range 4 {
				callers.Go(func() {
					for n := 0; ; n++ {
						if _, err := caller.InvokeTool(context.Background(), echoTool, nil); err != nil {
							assert.ErrorIs(t, err, connect.ErrSessionClosed)
							return
						}
						if worker == 0 && n == 10 {
							busy <- struct{}{}
						}
					}
				})
			}
		}
		soon(t, busy)
		soon(t, busy)
		for range 10 {
			for _, session := range []*connect.Session{app.Session, host.Session} {
				closers.Go(func() { _ = session.Close() })
			}
		}
		closers.Wait()
		callers.Wait()
		waitOf(t, app.Session)
		waitOf(t, host.Session)
	})
}

// unread is a transport that stops reading after a few frames.
type unread struct {
	connect.Transport
	left   int
	closed chan struct{}
	once   sync.Once
}

func (u *unread) Recv(ctx context.Context) ([]byte, error) {
	if u.left > 0 {
		u.left--
		return u.Transport.Recv(ctx)
	}
	<-u.closed
	return nil, io.ErrClosedPipe
}

func (u *unread) Close() error {
	u.once.Do(func() { close(u.closed) })
	return u.Transport.Close()
}

func TestPeerThatNeverReads(t *testing.T) {
	respond := responderConfig()
	respond.WriteTimeout = 200 * time.Millisecond
	s := prepareServer(respond, upgrade)
	s.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*net.TCPConn).SetWriteBuffer(16 << 10) // soon full
		return ctx
	}
	s.start(t)
	transport, err := ws.Dial(t.Context(), s.url, nil)
	require.NoError(t, err)
	// The host's hello and session are read, nothing after them.
	app, err := connect.Dial(t.Context(), &unread{Transport: transport, left: 2, closed: make(chan struct{})}, dialConfig())
	require.NoError(t, err)
	host := soon(t, s.sessions).host

	start := time.Now()
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() {
			args := map[string]string{"text": strings.Repeat("x", 1<<20)}
			for { // the kernel takes some
				ctx := connect.WithInvokeTimeout(context.Background(), time.Hour)
				if _, err := host.InvokeTool(ctx, echoTool, args); err != nil {
					assert.ErrorIs(t, err, connect.ErrSessionClosed)
					return
				}
			}
		})
	}
	err = waitOf(t, host.Session)
	require.ErrorIs(t, err, connect.ErrPeerNotReading)
	require.ErrorIs(t, err, connect.ErrSessionClosed)
	assert.GreaterOrEqual(t, time.Since(start), respond.WriteTimeout)
	assert.Less(t, time.Since(start), 15*time.Second)
	callers.Wait()
	hangUp(t, app.Session)
}
