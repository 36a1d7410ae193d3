package ws_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect/ws"
)

func TestDialErrors(t *testing.T) {
	answering := func(t *testing.T, answer http.HandlerFunc) string {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		return "ws" + strings.TrimPrefix(s.URL, "http")
	}

	t.Run("a port where nobody listens is named", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		url := "ws://" + listener.Addr().String() + "/spoke"
		require.NoError(t, listener.Close())
		_, err = ws.Dial(t.Context(), url, nil)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Contains(t, err.Error(), "ws: dial "+url+": ")
	})

	for name, status := range map[string]int{
		"a server without such a path": http.StatusNotFound,
		"a server that wants a login":  http.StatusUnauthorized,
		"a server that fails":          http.StatusInternalServerError,
		"a server that is no upgrader": http.StatusOK,
		"a server that redirects":      http.StatusFound,
	} {
		t.Run(name+" is quoted", func(t *testing.T) {
			url := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			_, err := ws.Dial(t.Context(), url, nil)
			require.ErrorIs(t, err, websocket.ErrBadHandshake)
			assert.Contains(t, err.Error(), "ws: dial "+url)
			assert.Contains(t, err.Error(), http.StatusText(status))
		})
	}

	t.Run("a server that speaks no HTTP is an error", func(t *testing.T) {
		url := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				_, _ = conn.Write([]byte("220 ready\r\n"))
				conn.Close()
			}
		})
		_, err := ws.Dial(t.Context(), url, nil)
		require.ErrorContains(t, err, "ws: dial "+url)
	})

	for name, url := range map[string]string{
		"no url":            "",
		"an http url":       "http://127.0.0.1/",
		"a url of no sense": "ws://127.0.0.1:port/",
		"a bare host":       "127.0.0.1:80",
		"a user in the url": "ws://user@127.0.0.1/",
	} {
		t.Run(name+" is an error that says where", func(t *testing.T) {
			_, err := ws.Dial(t.Context(), url, nil)
			require.ErrorContains(t, err, "ws: dial "+url)
		})
	}

	t.Run("a password in the url stays out of the error", func(t *testing.T) {
		_, err := ws.Dial(t.Context(), "ws://user:secret@127.0.0.1/", nil)
		require.ErrorContains(t, err, "ws: dial ws://user:")
		assert.NotContains(t, err.Error(), "secret")
	})
}

// newMute is a server that takes connections and requests and answers nothing. It
// reports each request.
func newMute(t testing.TB) (url string, requests chan *http.Request) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	requests = make(chan *http.Request, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		if request, err := http.ReadRequest(in); err == nil {
			requests <- request
		}
		_, _ = in.ReadByte() // until the client leaves
	}()
	t.Cleanup(func() {
		listener.Close()
		soon(t, done)
	})
	return "ws://" + listener.Addr().String(), requests
}

func TestDialContext(t *testing.T) {
	requireTimeout := func(t *testing.T, err error) {
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout(), "%v", err)
	}

	t.Run("a caller that gives up ends the wait for the server", func(t *testing.T) {
		url, requests := newMute(t)
		ctx, cancel := context.WithCancel(t.Context())
		dialed := make(chan error, 1)
		go func() {
			// The timeout is far beyond the patience of the test.
			_, err := ws.Dial(ctx, url, &ws.DialOptions{HandshakeTimeout: time.Hour})
			dialed <- err
		}()
		soon(t, requests)
		cancel()
		err := soon(t, dialed)
		require.ErrorIs(t, err, context.Canceled)
		assert.Contains(t, err.Error(), "ws: dial "+url)
	})

	t.Run("a caller that gave up before does not connect", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := ws.Dial(ctx, "ws://127.0.0.1:1", nil)
		require.ErrorIs(t, err, context.Canceled)
	})

	t.Run("a deadline of the caller's ends the wait", func(t *testing.T) {
		url, _ := newMute(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := ws.Dial(ctx, url, &ws.DialOptions{HandshakeTimeout: time.Hour})
		requireTimeout(t, err)
	})

	t.Run("the handshake timeout ends the wait", func(t *testing.T) {
		url, _ := newMute(t)
		_, err := ws.Dial(t.Context(), url, &ws.DialOptions{HandshakeTimeout: 50 * time.Millisecond})
		requireTimeout(t, err)
	})

	t.Run("the end of the context after the opening does not end the connection", func(t *testing.T) {
		url, transports := newTransportServer(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		client, err := ws.Dial(ctx, url, &ws.DialOptions{HandshakeTimeout: 20 * time.Second})
		require.NoError(t, err)
		defer client.Close()
		host := soon(t, transports)
		defer host.Close()
		cancel()
		require.NoError(t, client.Send(context.Background(), []byte("still here")))
		got, err := host.Recv(context.Background())
		require.NoError(t, err)
		assert.Equal(t, "still here", string(got))
	})
}

func TestDialOptions(t *testing.T) {
	t.Run("headers go out with the request", func(t *testing.T) {
		url, requests := newMute(t)
		ctx, cancel := context.WithCancel(t.Context())
		dialed := make(chan error, 1)
		go func() {
			_, err := ws.Dial(ctx, url, &ws.DialOptions{Header: http.Header{"Authorization": {"Bearer token"}}})
			dialed <- err
		}()
		assert.Equal(t, "Bearer token", soon(t, requests).Header.Get("Authorization"))
		cancel()
		require.Error(t, soon(t, dialed))
	})

	newTLSServer := func(t *testing.T) (*httptest.Server, chan *ws.Transport) {
		transports := make(chan *ws.Transport, 1)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if transport, err := ws.Upgrade(w, r, nil); err == nil {
				transports <- transport
			}
		}))
		s.Config.ErrorLog = silent
		s.StartTLS()
		t.Cleanup(s.Close)
		return s, transports
	}
	t.Run("wss uses the given TLS configuration", func(t *testing.T) {
		s, transports := newTLSServer(t)
		trust := s.Client().Transport.(*http.Transport).TLSClientConfig
		client, err := ws.Dial(t.Context(), "wss"+strings.TrimPrefix(s.URL, "https"), &ws.DialOptions{TLS: trust})
		require.NoError(t, err)
		host := soon(t, transports)
		require.NoError(t, client.Send(t.Context(), []byte("private")))
		got, err := host.Recv(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "private", string(got))
		client.Close()
		host.Close()
	})
	t.Run("wss trusts nobody whom the system does not trust", func(t *testing.T) {
		s, _ := newTLSServer(t)
		_, err := ws.Dial(t.Context(), "wss"+strings.TrimPrefix(s.URL, "https"), nil)
		require.ErrorContains(t, err, "certificate")
	})
}
