package ws_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
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

func serverConfig() connect.ServerConfig {
	return connect.ServerConfig{ResponderConfig: connect.ResponderConfig{Config: config(hostID, appID)}}
}

// handled is a connect.Server behind an HTTP server on the loopback.
type handled struct {
	*connect.Server
	http   *httptest.Server
	url    string
	opened chan *connect.Responder
}

func newHandled(t testing.TB, cfg connect.ServerConfig, options *ws.UpgradeOptions) *handled {
	t.Helper()
	opened := make(chan *connect.Responder, doorSlice)
	cfg.OnOpen = func(r *connect.Responder) { opened <- r }
	s, err := connect.NewServer(cfg)
	require.NoError(t, err)
	h := &handled{Server: s, opened: opened, http: httptest.NewServer(ws.Handler(s, options))}
	h.url = "ws" + strings.TrimPrefix(h.http.URL, "http")
	t.Cleanup(func() {
		s.Close()
		assert.NoError(t, s.Shutdown(context.Background()))
		h.http.Close()
	})
	return h
}

// dial returns both sides of a new session.
func (h *handled) dial(t testing.TB, cfg connect.DialConfig) (*connect.RemoteAdapter, *connect.Responder) {
	t.Helper()
	transport, err := ws.Dial(t.Context(), h.url, nil)
	require.NoError(t, err)
	app, err := connect.Dial(t.Context(), transport, cfg)
	require.NoError(t, err)
	return app, soon(t, h.opened)
}

func TestHandler(t *testing.T) {
	t.Run("holds sessions that outlive the HTTP server", func(t *testing.T) {
		h := newHandled(t, serverConfig(), nil)
		app, host := h.dial(t, dialConfig())
		h.http.Config.Close()
		require.NoError(t, h.http.Config.Shutdown(t.Context()), "no request is under way")
		_, err := app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		_, err = host.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		hangUp(t, app.Session)
		<-host.Done()
		assert.Empty(t, h.SessionsOf(appID.PeerID()))
	})

	t.Run("answers 503 before the upgrade while the server is full, and once it is closed", func(t *testing.T) {
		cfg := serverConfig()
		cfg.ServerLimits.Sessions = 1
		h := newHandled(t, cfg, nil)
		requireUnavailable := func() {
			t.Helper()
			_, response, err := websocket.DefaultDialer.DialContext(t.Context(), h.url, nil)
			require.ErrorIs(t, err, websocket.ErrBadHandshake)
			assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
			assert.Equal(t, "1", response.Header.Get("Retry-After"))
			_, err = ws.Dial(t.Context(), h.url, nil)
			assert.ErrorIs(t, err, connect.ErrTryLater)
		}
		app, host := h.dial(t, dialConfig())
		requireUnavailable()
		hangUp(t, app.Session)
		<-host.Done()
		app, _ = h.dial(t, dialConfig())
		hangUp(t, app.Session)
		require.NoError(t, h.Shutdown(t.Context()))
		requireUnavailable()
	})

	t.Run("asks whom it cuts short when it shuts down to come back later", func(t *testing.T) {
		h := newHandled(t, serverConfig(), nil)
		transport, err := ws.Dial(t.Context(), h.url, nil)
		require.NoError(t, err)
		defer transport.Close()
		require.NoError(t, h.Shutdown(t.Context()))
		_, err = transport.Recv(t.Context())
		require.ErrorIs(t, err, connect.ErrTryLater)
	})

	t.Run("takes the options of Upgrade", func(t *testing.T) {
		h := newHandled(t, serverConfig(), &ws.UpgradeOptions{CheckOrigin: func(*http.Request) bool { return false }})
		_, response, err := websocket.DefaultDialer.DialContext(t.Context(), h.url, nil)
		require.ErrorIs(t, err, websocket.ErrBadHandshake)
		assert.Equal(t, http.StatusForbidden, response.StatusCode)
	})

	t.Run("refuses a request that is no WebSocket's", func(t *testing.T) {
		h := newHandled(t, serverConfig(), nil)
		response, err := http.Get(h.http.URL)
		require.NoError(t, err)
		defer response.Body.Close()
		assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	})
}

func TestTheLastAnswerOfAServerThatShutsDownArrives(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	cfg := serverConfig()
	cfg.Tools = spoke.ToolHandlers{echoTool: func(_ context.Context, args json.RawMessage) (any, error) {
		close(running)
		<-release
		return args, nil
	}}
	h := newHandled(t, cfg, nil)
	app, _ := h.dial(t, dialConfig())
	answered := make(chan error, 1)
	go func() {
		_, err := app.InvokeTool(t.Context(), echoTool, map[string]string{"text": strings.Repeat("x", 3<<20)})
		answered <- err
	}()
	soon(t, running)
	down := make(chan error, 1)
	go func() { down <- h.Shutdown(t.Context()) }()
	for h.Ready() == nil {
		runtime.Gosched() // until the shutdown has begun
	}
	close(release)
	require.NoError(t, soon(t, answered))
	require.NoError(t, soon(t, down))
	waitOf(t, app.Session)
}

func TestARedialerOutwaitsAHostThatHasNoPlaceForIt(t *testing.T) {
	cfg := serverConfig()
	cfg.Second = connect.RefuseSecond
	h := newHandled(t, cfg, nil)
	_, first := h.dial(t, dialConfig())
	var attempts, later atomic.Int32
	redialer, err := connect.NewRedialer(connect.RedialConfig{
		DialConfig: dialConfig(), MinDelay: time.Millisecond, MaxDelay: 2 * time.Millisecond, MaxRefusals: 3,
		Open: func(ctx context.Context) (connect.Transport, error) {
			if attempts.Add(1) == 10 {
				first.Close()
			}
			return ws.Dial(ctx, h.url, nil)
		},
		OnState: func(_ connect.State, err error) {
			if errors.Is(err, connect.ErrTryLater) {
				later.Add(1)
			}
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- redialer.Run(ctx) }()
	_, err = redialer.InvokeTool(connect.WithInvokeTimeout(t.Context(), time.Minute), echoTool, nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, attempts.Load(), int32(10))
	assert.GreaterOrEqual(t, later.Load(), int32(9))

	h.Disallow(appID.PeerID())
	require.ErrorIs(t, soon(t, stopped), connect.ErrRefused, "a refusal still is one")
	cancel()
}

func ExampleHandler() {
	server, err := connect.NewServer(serverConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	http := httptest.NewServer(ws.Handler(server, nil))
	defer http.Close()

	transport, err := ws.Dial(context.Background(), "ws"+strings.TrimPrefix(http.URL, "http"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := connect.Dial(context.Background(), transport, dialConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := app.InvokeTool(context.Background(), echoTool, map[string]int{"n": 1})
	fmt.Println(string(got), err)
	fmt.Println(server.Shutdown(context.Background()))
	app.Wait()
	// Output:
	// {"n":1} <nil>
	// <nil>
}
