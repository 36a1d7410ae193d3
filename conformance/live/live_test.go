package live_test

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// underTest is this library as the peer under test: each connection is served by a
// session of its own.
type underTest struct {
	t         testing.TB
	id, judge *connect.Identity
	nonces    connect.NonceStore
	config    func(*connect.Config)
	running   sync.WaitGroup
}

func newUnderTest(t testing.TB) *underTest {
	id, err := connect.GenerateIdentity()
	require.NoError(t, err)
	judge, err := connect.GenerateIdentity()
	require.NoError(t, err)
	return &underTest{t: t, id: id, judge: judge, nonces: connect.NewNonceStore(0)}
}

func (u *underTest) base() connect.Config {
	cfg := connect.Config{
		Identity: u.id, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{u.judge.PeerID()},
		Tools: toyworld.Tools(), Nonces: u.nonces, InvokeTimeout: time.Second,
	}
	if u.config != nil {
		u.config(&cfg)
	}
	return cfg
}

// respond opens a connection that a responder serves.
func (u *underTest) respond(ctx context.Context) (connect.Transport, error) {
	mine, theirs := connect.Pipe()
	u.running.Go(func() {
		r, err := connect.Accept(ctx, mine, connect.ResponderConfig{Config: u.base()})
		if err == nil {
			_ = r.Wait()
		}
	})
	return theirs, nil
}

// dial opens a connection that comes from a dialer, which invokes a tool at once.
func (u *underTest) dial(ctx context.Context) (connect.Transport, error) {
	mine, theirs := connect.Pipe()
	u.running.Go(func() {
		a, err := connect.Dial(ctx, mine, connect.DialConfig{Config: u.base(), Remote: u.judge.PeerID()})
		if err != nil {
			return
		}
		u.running.Go(func() { _, _ = a.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 1}) })
		_ = a.Wait()
	})
	return theirs, nil
}

func (u *underTest) run(role live.Role, timeout time.Duration) *live.Report {
	u.t.Helper()
	cfg := live.Config{Role: role, Identity: u.judge, Remote: u.id.PeerID(), Timeout: timeout, Open: u.respond}
	if role == live.Dialer {
		cfg.Open = u.dial
	}
	report, err := live.Run(u.t.Context(), cfg)
	require.NoError(u.t, err)
	u.running.Wait()
	return report
}

func TestThisLibraryPassesEveryRuleInBothRoles(t *testing.T) {
	for _, role := range []live.Role{live.Responder, live.Dialer} {
		t.Run(string(role), func(t *testing.T) {
			report := newUnderTest(t).run(role, 10*time.Second)
			require.NoError(t, report.WriteText(os.Stdout))
			for _, r := range report.Results {
				assert.Equal(t, live.Pass, r.Verdict, "%s: %s", r.Rule, r.Detail)
			}
			assert.True(t, report.OK)
			assert.Equal(t, toyworld.RollDiceID, report.Tool)
			_, err := json.Marshal(report)
			require.NoError(t, err)
		})
	}
}

var _ = spoke.CodeInternalError
