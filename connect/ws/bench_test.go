package ws_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// small is the arguments of a small round trip.
var small = json.RawMessage(`{"count":2,"sides":6}`)

// BenchmarkInvoke is a signed round trip over a loopback connection, both ends of which
// are in this process.
func BenchmarkInvoke(b *testing.B) {
	app, host := newHandled(b, serverConfig(), nil).dial(b, dialConfig())
	defer hangUp(b, app.Session)
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("ws/inflight=%d", n), func(b *testing.B) {
			benchtest.Invokes(b, benchtest.Echo(b, echoTool, small, n, app))
		})
	}
	for _, n := range []int{2, 16, 64} {
		b.Run(fmt.Sprintf("ws/both-ways/inflight=%d", n), func(b *testing.B) {
			benchtest.Invokes(b, benchtest.Echo(b, echoTool, small, n, app, host))
		})
	}
}

// BenchmarkSessions makes each call at another session, and reports as "of-one-session"
// what it costs by that of a call at always the same one.
func BenchmarkSessions(b *testing.B) {
	apps := openSessions(b, 1000)
	for _, n := range []int{1, 100, 1000} {
		for _, inFlight := range []int{1, 16} {
			b.Run(fmt.Sprintf("ws/sessions=%d/inflight=%d", n, inFlight), func(b *testing.B) {
				benchtest.Invokes(b, benchtest.Echo(b, echoTool, small, inFlight, apps[:n]...))
				among := amongSessions(apps[:n], inFlight)
				among.N = min(b.N, 4000)
				work, _, err := among.Run(b.Context())
				require.NoError(b, err)
				b.ReportMetric(1/work.OfFloor, "of-one-session")
			})
		}
	}
}

// amongSessions is the contest between calls at all sessions and at one.
func amongSessions(apps []bench.Invoker, inFlight int) bench.Contest {
	return bench.Contest{
		Load: bench.Load{InFlight: inFlight},
		Work: bench.Invoke(echoTool, small, apps...), Floor: bench.Invoke(echoTool, small, apps[0]),
	}
}

// openSessions returns the near ends of n sessions with one server, each of another peer.
func openSessions(tb testing.TB, n int) []bench.Invoker {
	tb.Helper()
	cfg := serverConfig()
	cfg.Allow = nil
	peers := make([]*connect.Identity, n)
	for i := range peers {
		id, err := connect.IdentityFromSeed(fmt.Appendf(nil, "%032d", i))
		require.NoError(tb, err)
		peers[i], cfg.Allow = id, append(cfg.Allow, id.PeerID())
	}
	h := newHandled(tb, cfg, nil)
	apps := make([]bench.Invoker, n)
	for i, id := range peers {
		app, _ := h.dial(tb, connect.DialConfig{Config: config(id, hostID), Remote: hostID.PeerID()})
		tb.Cleanup(func() { hangUp(tb, app.Session) })
		apps[i] = app
	}
	return apps
}

// BenchmarkHandshake opens connections, upgrades them and shakes hands. The ends of the
// sessions are not measured.
func BenchmarkHandshake(b *testing.B) {
	d := newDoor(b)
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("ws/inflight=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			c := d.contest(b, b.N)
			c.InFlight = n
			b.ReportMetric(benchtest.Contest(b, c).PerSec, "handshakes/s")
		})
	}
}

// door is a server, and the sessions that were opened to it.
type door struct {
	tb   testing.TB
	host *handled
	cfg  connect.DialConfig
	mu   sync.Mutex
	open []*connect.RemoteAdapter
}

func newDoor(tb testing.TB) *door {
	tb.Helper()
	cfg := serverConfig()
	cfg.ServerLimits.SessionsPerPeer = 20000
	return &door{tb: tb, host: newHandled(tb, cfg, nil), cfg: dialConfig()}
}

// What a hello and a session envelope of these tests have that is signed, about.
const (
	helloBytes   = 1100
	sessionBytes = 500
)

// doorSlice is how many sessions are open at once, at most.
const doorSlice = 500

// doorRounds is in how many slices n handshakes are measured.
func doorRounds(n int) int { return max(8, (n+doorSlice-1)/doorSlice) }

// contest is the one between n handshakes and what their signatures cost.
func (d *door) contest(tb testing.TB, n int) bench.Contest {
	tb.Helper()
	return bench.Contest{
		Load: bench.Load{N: n}, Rounds: doorRounds(n),
		Work: d.enter, Floor: benchtest.Floor(tb, helloBytes, helloBytes, sessionBytes),
		After: d.clear,
	}
}

// enter opens one session.
func (d *door) enter(ctx context.Context, _ int) error {
	transport, err := ws.Dial(ctx, d.host.url, nil)
	if err != nil {
		return err
	}
	app, err := connect.Dial(ctx, transport, d.cfg)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, app)
	return nil
}

// clear ends the sessions that are open and waits for both sides.
func (d *door) clear() {
	for _, app := range d.open {
		app.Close()
	}
	for _, app := range d.open {
		_, _ = waitOf(d.tb, app.Session), waitOf(d.tb, soon(d.tb, d.host.opened).Session)
	}
	d.open = nil
}
