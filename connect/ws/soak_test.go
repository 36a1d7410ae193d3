package ws_test

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
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

var soakTime = flag.Duration("soak", 2*time.Second, "how long TestSoak runs")

const soakPeers = 200

// soak is a host, peers that come and go, and the account of every invoke.
type soak struct {
	t    *testing.T
	url  string
	stop time.Time

	next     atomic.Int64
	runs     []atomic.Uint32 // by the number of the invoke
	answered atomic.Int64
	lost     atomic.Int64 // sessions ended before the answer came
	sessions atomic.Int64
}

// echo counts the run of a numbered invoke and answers with its number.
func (s *soak) echo(_ context.Context, args json.RawMessage) (any, error) {
	var in struct{ N int64 }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	s.runs[in.N].Add(1)
	return in.N, nil
}

// invoke makes one numbered invoke and keeps the account. It returns false once the
// session has ended.
func (s *soak) invoke(session *connect.Session) bool {
	n := s.next.Add(1)
	if n >= int64(len(s.runs)) {
		return false
	}
	got, err := session.InvokeTool(context.Background(), echoTool, map[string]int64{"N": n})
	runs := s.runs[n].Load()
	if err != nil {
		s.lost.Add(1)
		assert.ErrorIs(s.t, err, connect.ErrSessionClosed, "only a session that ended loses an answer")
		assert.LessOrEqual(s.t, runs, uint32(1))
		return false
	}
	s.answered.Add(1)
	var echoed int64
	assert.NoError(s.t, json.Unmarshal(got, &echoed))
	assert.Equal(s.t, n, echoed, "another invoke's answer")
	assert.EqualValues(s.t, 1, runs)
	return true
}

// burst invokes for a while from some goroutines at once.
func (s *soak) burst(session *connect.Session, calls int) {
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range calls {
				if !s.invoke(session) {
					return
				}
			}
		})
	}
	all.Wait()
}

// peer comes, invokes, and crashes or leaves, until the time is over.
func (s *soak) peer(id *connect.Identity) {
	random := rand.New(rand.NewPCG(uint64(id.PeerID()[20]), uint64(id.PeerID()[30])))
	cfg := connect.DialConfig{Config: config(id, hostID), Remote: hostID.PeerID()}
	cfg.Tools = spoke.ToolHandlers{echoTool: s.echo}
	for time.Now().Before(s.stop) {
		conn, _, err := websocket.DefaultDialer.Dial(s.url, nil)
		if err != nil {
			continue // 503 while too many shake hands
		}
		app, err := connect.Dial(context.Background(), ws.New(conn), cfg)
		if err != nil {
			assert.NotErrorIs(s.t, err, connect.ErrMalformedFrame)
			continue
		}
		s.sessions.Add(1)
		var crash *time.Timer
		if random.IntN(2) == 0 {
			crash = time.AfterFunc(time.Duration(random.IntN(50))*time.Millisecond, func() { conn.NetConn().Close() })
		}
		s.burst(app.Session, 1+random.IntN(40))
		if crash != nil {
			crash.Stop()
			conn.NetConn().Close()
		}
		app.Close()
		app.Wait()
	}
}

// heap returns the bytes that are in use when the garbage is out.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

func TestSoak(t *testing.T) {
	s := &soak{t: t, stop: time.Now().Add(*soakTime), runs: make([]atomic.Uint32, 4<<20)}
	var peers []*connect.Identity
	cfg := serverConfig()
	cfg.Allow = nil
	many := soakPeers
	if testing.Short() {
		many /= 5 // under the race detector they take their time to end
	}
	for i := range many {
		id := identityOf(byte(i + 3))
		peers = append(peers, id)
		cfg.Allow = append(cfg.Allow, id.PeerID())
	}
	cfg.Nonces = connect.NewNonceStore(1024)
	cfg.Tools = spoke.ToolHandlers{echoTool: s.echo}
	cfg.Second = connect.ReplaceFirst
	cfg.SkipProofOfPossession = true
	var hosts sync.WaitGroup
	cfg.OnOpen = func(r *connect.Responder) { hosts.Go(func() { s.burst(r.Session, 20) }) }
	server, err := connect.NewServer(cfg)
	require.NoError(t, err)
	http := httptest.NewServer(ws.Handler(server, nil))
	defer http.Close()
	s.url = "ws" + strings.TrimPrefix(http.URL, "http")

	var all sync.WaitGroup
	for _, id := range peers {
		all.Go(func() { s.peer(id) })
	}
	var early, late uint64
	all.Go(func() {
		<-time.After(*soakTime / 3)
		early = heap()
		<-time.After(time.Until(s.stop) - *soakTime/20)
		late = heap()
	})
	all.Wait()
	require.NoError(t, server.Shutdown(t.Context()))
	hosts.Wait()

	assert.Positive(t, s.answered.Load())
	for n := range s.next.Load() {
		if n < int64(len(s.runs)) && s.runs[n].Load() > 1 {
			assert.Fail(t, "an invoke ran more than once", "%d", n)
		}
	}
	assert.Less(t, late, early+early/2+16<<20, "memory grows")
	t.Logf("%d sessions, %d invokes answered, %d cut off by a crash, %d MiB after a third and %d MiB at the end",
		s.sessions.Load(), s.answered.Load(), s.lost.Load(), early>>20, late>>20)
}
