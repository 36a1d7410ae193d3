package ws_test

import (
	"net"
	"net/http"
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

// beat is an interval between pings that a test has the time for.
const beat = 100 * time.Millisecond

// pinging is upgrade at an interval.
func pinging(interval time.Duration) func(http.ResponseWriter, *http.Request) (connect.Transport, error) {
	return func(w http.ResponseWriter, r *http.Request) (connect.Transport, error) {
		return ws.Upgrade(w, r, &ws.UpgradeOptions{PingInterval: interval})
	}
}

func dialPinging(t testing.TB, url string, interval time.Duration) *ws.Transport {
	t.Helper()
	transport, err := ws.Dial(t.Context(), url, &ws.DialOptions{PingInterval: interval})
	require.NoError(t, err)
	return transport
}

// vanished asserts that s ends for its peer's silence within two intervals, and that
// what waits on it fails at once with session_closed.
func vanished(t *testing.T, s *connect.Session) {
	t.Helper()
	began := time.Now()
	var waiting sync.WaitGroup
	for range 10 {
		waiting.Go(func() {
			_, err := s.InvokeTool(t.Context(), waitTool, nil) // times out after a minute
			assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err), "%v", err)
			assert.ErrorIs(t, err, connect.ErrPeerSilent)
		})
	}
	require.ErrorIs(t, waitOf(t, s), connect.ErrPeerSilent)
	waiting.Wait()
	took := time.Since(began)
	assert.Less(t, took, 2*beat+2*time.Second, "two intervals and a slow machine")
}

func TestAVanishedPeerIsNoticed(t *testing.T) {
	t.Run("by the host", func(t *testing.T) {
		s := newServer(t, responderConfig(), pinging(beat))
		// The host's hello and session are read, nothing after them: not even a ping.
		gone := &unread{Transport: dialPinging(t, s.url, -1), left: 2, closed: make(chan struct{})}
		app, err := connect.Dial(t.Context(), gone, dialConfig())
		require.NoError(t, err)
		vanished(t, soon(t, s.sessions).host.Session)
		hangUp(t, app.Session)
	})

	t.Run("by the dialer", func(t *testing.T) {
		s := newServer(t, responderConfig(), func(w http.ResponseWriter, r *http.Request) (connect.Transport, error) {
			transport, err := pinging(-1)(w, r)
			return &unread{Transport: transport, left: 1, closed: make(chan struct{})}, err
		})
		app, err := connect.Dial(t.Context(), dialPinging(t, s.url, beat), dialConfig())
		require.NoError(t, err)
		host := soon(t, s.sessions).host
		vanished(t, app.Session)
		hangUp(t, host.Session)
	})
}

func TestAPeerThatIsIdleIsNotGivenUp(t *testing.T) {
	const calm = 500 * time.Millisecond // a slow machine can answer within twice that
	for name, c := range map[string]struct{ app, host time.Duration }{
		"both sides ping":       {calm, calm},
		"only the dialer pings": {calm, -1},
		"only the host pings":   {-1, calm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, responderConfig(), pinging(c.host))
			app, err := connect.Dial(t.Context(), dialPinging(t, s.url, c.app), dialConfig())
			require.NoError(t, err)
			host := soon(t, s.sessions).host
			<-time.After(4 * calm)
			for _, session := range []*connect.Session{app.Session, host.Session} {
				_, err := session.InvokeTool(t.Context(), echoTool, nil)
				assert.NoError(t, err)
			}
			hangUp(t, app.Session)
			waitOf(t, host.Session)
		})
	}
}

func TestPings(t *testing.T) {
	t.Run("come at the interval from either side", func(t *testing.T) {
		for _, side := range []string{"client", "host"} {
			t.Run("the peer is the "+side, func(t *testing.T) {
				raw := rawPinged(t, side, 50*time.Millisecond)
				pings := make(chan struct{}, 100)
				raw.SetPingHandler(func(string) error { pings <- struct{}{}; return nil })
				var reader sync.WaitGroup
				reader.Go(func() { _, _, _ = raw.ReadMessage() })
				began := time.Now()
				for range 4 {
					soon(t, pings)
				}
				assert.GreaterOrEqual(t, time.Since(began), 150*time.Millisecond)
				raw.Close()
				reader.Wait()
			})
		}
	})

	t.Run("can be turned off", func(t *testing.T) {
		raw := rawPinged(t, "host", -1)
		var pings atomic.Int32
		raw.SetPingHandler(func(string) error { pings.Add(1); return nil })
		require.NoError(t, raw.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
		_, _, err := raw.ReadMessage()
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.Zero(t, pings.Load())
	})
}

// rawPinged returns the bare connection at the other end of a transport that pings.
func rawPinged(t testing.TB, side string, interval time.Duration) *websocket.Conn {
	t.Helper()
	if side == "client" {
		url, transports := newTransportServer(t, &ws.UpgradeOptions{PingInterval: interval})
		conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
		require.NoError(t, err)
		host := soon(t, transports)
		t.Cleanup(func() { host.Close() })
		return conn
	}
	conns := make(chan *websocket.Conn, 1)
	s := newBareServer(t, conns)
	client := dialPinging(t, s, interval)
	conn := soon(t, conns)
	t.Cleanup(func() {
		conn.Close()
		client.Close()
	})
	return conn
}

func TestFinish(t *testing.T) {
	t.Run("lets what was sent before arrive, although the peer's own data is unread", func(t *testing.T) {
		client, host := transportPair(t)
		require.NoError(t, client.Send(t.Context(), make([]byte, 100_000)))
		last := make([]byte, 3<<20)
		var sender sync.WaitGroup
		sender.Go(func() {
			assert.NoError(t, host.Send(t.Context(), last))
			assert.NoError(t, host.Finish())
		})
		<-time.After(50 * time.Millisecond) // the last words are on their way or wait to be
		got, err := client.Recv(t.Context())
		require.NoError(t, err)
		assert.Len(t, got, len(last))
		client.Close()
		sender.Wait()
	})

	t.Run("waits no longer than a second", func(t *testing.T) {
		transport, _ := rawPair(t, "client")
		began := time.Now()
		require.NoError(t, transport.Finish())
		assert.Less(t, time.Since(began), 10*time.Second)
		require.NoError(t, transport.Close(), "it is closed")
		_, err := transport.Recv(t.Context())
		assert.Error(t, err)
	})
}
