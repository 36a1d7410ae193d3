package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func identityOf(t testing.TB, seed byte) *connect.Identity {
	t.Helper()
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{seed}, 32))
	require.NoError(t, err)
	return id
}

// underTest is a peer under test: each connection is served by half, on a goroutine of
// its own.
type underTest struct {
	t         testing.TB
	id, judge *connect.Identity
	nonces    connect.NonceStore
	half      func(ctx context.Context, u *underTest, t connect.Transport)
	running   sync.WaitGroup
}

func newUnderTest(t testing.TB, half func(context.Context, *underTest, connect.Transport)) *underTest {
	return &underTest{t: t, id: identityOf(t, 1), judge: identityOf(t, 2), nonces: connect.NewNonceStore(0), half: half}
}

func (u *underTest) open(ctx context.Context) (connect.Transport, error) {
	mine, theirs := connect.Pipe()
	u.running.Go(func() { u.half(ctx, u, mine) })
	return theirs, nil
}

func (u *underTest) config(role live.Role) live.Config {
	return live.Config{Role: role, Identity: u.judge, Remote: u.id.PeerID(), Open: u.open, Timeout: 10 * time.Second}
}

// run plays the rules whose names contain only, all of them for "".
func (u *underTest) run(role live.Role, only string) *live.Report {
	u.t.Helper()
	cfg := u.config(role)
	cfg.Only(only)
	report, err := live.Run(u.t.Context(), cfg)
	require.NoError(u.t, err)
	u.running.Wait()
	return report
}

func (u *underTest) base() connect.Config {
	return connect.Config{
		Identity: u.id, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{u.judge.PeerID()},
		Tools: toyworld.Tools(), Nonces: u.nonces, InvokeTimeout: time.Second,
	}
}

// responder is this library's responder.
func responder(ctx context.Context, u *underTest, t connect.Transport) {
	if r, err := connect.Accept(ctx, t, connect.ResponderConfig{Config: u.base()}); err == nil {
		_ = r.Wait()
	}
}

// dialer is this library's dialer, which invokes a tool at once.
func dialer(ctx context.Context, u *underTest, t connect.Transport) {
	a, err := connect.Dial(ctx, t, connect.DialConfig{Config: u.base(), Remote: u.judge.PeerID()})
	if err != nil {
		return
	}
	u.running.Go(func() { _, _ = a.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 1}) })
	_ = a.Wait()
}

var halves = map[live.Role]func(context.Context, *underTest, connect.Transport){
	live.Responder: responder, live.Dialer: dialer,
}

func textOf(t testing.TB, r *live.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func TestThisLibraryPassesEveryRuleInBothRoles(t *testing.T) {
	for role, half := range halves {
		t.Run(string(role), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report := newUnderTest(t, half).run(role, "")
				for _, r := range report.Results {
					assert.Equal(t, live.Pass, r.Verdict, "%s: %s", r.Rule, r.Detail)
				}
				assert.True(t, report.OK)
				assert.Equal(t, toyworld.RollDiceID, report.Tool)
				assert.Contains(t, textOf(t, report), fmt.Sprintf("\n%d passed, 0 failed, 0 lenient, 0 not run\n", len(report.Results)))
				encoded, err := json.Marshal(report)
				require.NoError(t, err)
				assert.Contains(t, string(encoded), `"verdict":"pass"`)
			})
		})
	}
}

func TestAPeerThatAcceptsEverythingPassesNoRefusal(t *testing.T) {
	for _, role := range []live.Role{live.Responder, live.Dialer} {
		t.Run(string(role), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report := newUnderTest(t, gullible(role)).run(role, "")
				assert.False(t, report.OK)
				for _, r := range report.Results {
					if !strings.Contains(r.Rule, "refused") && !strings.Contains(r.Rule, "ends the") && !strings.HasSuffix(r.Rule, "accepted once") {
						continue
					}
					want := live.Fail
					if r.Stricter {
						want = live.Lenient
					}
					assert.Equal(t, want, r.Verdict, "%s: %s", r.Rule, r.Detail)
					assert.NotEmpty(t, r.Detail, r.Rule)
				}
			})
		})
	}
}

// fault breaks a peer that is honest otherwise, in what it sends.
type fault struct {
	rule    string // the rule that must notice
	verdict live.Verdict
	change  func(frame string) []string
}

func TestAFaultOfAPeerIsNoticedByItsRule(t *testing.T) {
	replace := func(old, with string) func(string) []string {
		return func(frame string) []string { return []string{strings.Replace(frame, old, with, 1)} }
	}
	for name, f := range map[string]fault{
		"answers are sent twice": {"requests in flight", live.Fail, func(frame string) []string {
			if strings.Contains(frame, `"payload"`) {
				return []string{frame, frame}
			}
			return []string{frame}
		}},
		"answers are not signed":               {"an honest request is answered", live.Fail, replace(`"signature":"`, `"signatur":"`)},
		"answers are for another sequence":     {"an honest request is answered", live.Fail, replace(`"sequence":0`, `"sequence":7`)},
		"failures have no code":                {"a failure carries an error", live.Fail, replace(`"code":"op_unsupported"`, `"kode":"op_unsupported"`)},
		"successes have no result":             {"a success carries a payload", live.Fail, replace(`"result":`, `"value":`)},
		"a refusal has another code":           {"a sequence ahead is refused", live.Fail, replace(`"code":"invalid_sequence"`, `"code":"nope"`)},
		"a refused signature has another kind": {"a request without a signature", live.Fail, replace(`"kind":"envelope_auth_missing"`, `"kind":"x"`)},
	} {
		for role, half := range halves {
			t.Run(name+", "+string(role), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					u := newUnderTest(t, func(ctx context.Context, u *underTest, inner connect.Transport) {
						half(ctx, u, &faulty{Transport: inner, id: u.id, change: f.change})
					})
					assertVerdict(t, u.run(role, f.rule), f.rule, f.verdict)
				})
			})
		}
	}
}

// runWith plays the rule against a responder that says value for member.
func runWith(t *testing.T, rule, member, value string) (verdict live.Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := newUnderTest(t, func(ctx context.Context, u *underTest, inner connect.Transport) {
			responder(ctx, u, &other{inner, u.id, member, json.RawMessage(value)})
		})
		report := u.run(live.Responder, rule)
		require.Len(t, report.Results, 1)
		verdict = report.Results[0].Verdict
	})
	return verdict
}

func TestASessionIsOpenedAtAnRFC3339TimeInUTC(t *testing.T) {
	for text, want := range map[string]live.Verdict{
		"2026-01-02T03:04:05Z":        live.Pass,
		"2026-01-02t03:04:05z":        live.Pass,
		"2026-01-02T03:04:05.678z":    live.Pass,
		"2026-01-02T03:04:05+00:00":   live.Pass,
		"2026-01-02T03:04:05+01:00":   live.Fail,
		"2026-01-02T03:04:05,678Z":    live.Fail,
		"2026-01-02T3:04:05Z":         live.Fail,
		"2026-01-02 03:04:05Z":        live.Fail,
		"2026-01-02T03:04:05":         live.Fail,
		"2026-02-30T03:04:05Z":        live.Fail,
		"2026-01-02":                  live.Fail,
		"":                            live.Fail,
		"Fri, 02 Jan 2026 03:04:05 Z": live.Fail,
	} {
		assert.Equal(t, want, runWith(t, "the session was opened at", "opened_at", `"`+text+`"`), text)
	}
}

func TestWhatIsNoTextAmongCapabilitiesIsNotNegotiated(t *testing.T) {
	host, err := json.Marshal(toyworld.HostManifest())
	require.NoError(t, err)
	odd := strings.Replace(string(host), `"capabilities":[`, `"capabilities":[1,null,`, 1)
	require.NotEqual(t, string(host), odd)
	assert.Equal(t, live.Pass, runWith(t, "the session lists what both manifests list", "host", odd))
}

func assertVerdict(t testing.TB, report *live.Report, rule string, verdict live.Verdict) {
	t.Helper()
	found := false
	for _, r := range report.Results {
		if strings.Contains(r.Rule, rule) {
			found = true
			assert.Equal(t, verdict, r.Verdict, "%s: %s", r.Rule, r.Detail)
		}
	}
	assert.True(t, found, "no rule %q", rule)
}

// alwaysFresh is a nonce store that remembers nothing.
type alwaysFresh struct{}

func (alwaysFresh) Accept(connect.PeerID, string) (bool, error) { return true, nil }

func TestAPeerWithoutAMemoryOfNoncesIsLenient(t *testing.T) {
	for role, rule := range map[live.Role]string{live.Responder: "a hello is accepted once", live.Dialer: "a responder's nonce is accepted once"} {
		synctest.Test(t, func(t *testing.T) {
			u := newUnderTest(t, halves[role])
			u.nonces = alwaysFresh{}
			report := u.run(role, "once")
			assertVerdict(t, report, rule, live.Lenient)
			assert.True(t, report.OK, "a lenient peer has not failed")
			told := report.Results[slices.IndexFunc(report.Results, func(r live.Result) bool { return r.Verdict == live.Lenient })].Detail
			assert.Equal(t, role == live.Dialer, strings.Contains(told, "a new process each time"), told)
			assert.Equal(t, 1, report.Lenient)
		})
	}
}

func TestAPeerThatNeverAnswersFailsWithoutHangingTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := newUnderTest(t, func(ctx context.Context, _ *underTest, t connect.Transport) {
			for {
				if _, err := t.Recv(ctx); err != nil {
					return
				}
			}
		})
		_, err := live.Run(t.Context(), silent.config(live.Responder))
		assert.ErrorContains(t, err, "no session with the peer")
		silent.running.Wait()
	})
}

func TestAPeerWithoutToolsIsJudgedByOpsThatNobodyServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnderTest(t, func(ctx context.Context, u *underTest, inner connect.Transport) {
			cfg := u.base()
			cfg.Manifest.Tools, cfg.Manifest.Capabilities = nil, []string{connect.CapabilityBaseline}
			if r, err := connect.Accept(ctx, inner, connect.ResponderConfig{Config: cfg}); err == nil {
				_ = r.Wait()
			}
		})
		report := u.run(live.Responder, "")
		assertVerdict(t, report, "a success carries a payload", live.NotRun)
		assertVerdict(t, report, "a sequence ahead is refused", live.Pass)
		assert.True(t, report.OK, "what does not apply to a peer is not missed")
		assert.Zero(t, report.Missed)
		assert.Empty(t, report.Tool)
	})
}

func TestWhatARunIsToldIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnderTest(t, responder)
		cfg := u.config(live.Responder)
		cfg.Tool, cfg.Args = toyworld.LoreLookupID, json.RawMessage(`{"entry_id":"nobody"}`)
		manifest, err := json.Marshal(toyworld.AppManifest())
		require.NoError(t, err)
		cfg.Manifest, cfg.Remote = manifest, ""
		var seen []live.Result
		cfg.Progress = func(r live.Result) { seen = append(seen, r) }
		report, err := live.Run(t.Context(), cfg)
		require.NoError(t, err)
		u.running.Wait()
		assert.Equal(t, report.Results, seen)
		assert.Equal(t, u.id.PeerID(), report.Peer, "whoever was met")
		assert.Equal(t, toyworld.LoreLookupID, report.Tool)
		for _, r := range report.Results {
			if strings.Contains(r.Rule, "a success carries") {
				assert.Contains(t, r.Detail, "KNOWLEDGE_ENTRY_NOT_FOUND")
			}
		}
	})
}

func TestARunThatIsCanceledReportsTheRestAsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnderTest(t, responder)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := u.config(live.Responder)
		cfg.Progress = func(live.Result) { cancel() }
		report, err := live.Run(ctx, cfg)
		require.NoError(t, err)
		u.running.Wait()
		assert.Equal(t, 1, report.Passed)
		assert.Equal(t, len(report.Results)-1, report.NotRun)
		assert.Equal(t, report.NotRun, report.Missed)
		assert.False(t, report.OK, "most of it was not judged")
	})
}

func TestARunThatMissesRulesForLackOfAConnectionIsNoSuccess(t *testing.T) {
	for role, half := range halves {
		t.Run(string(role), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUnderTest(t, half)
				cfg, left := u.config(role), 2
				cfg.Open = func(ctx context.Context) (connect.Transport, error) {
					if left--; left < 0 {
						return nil, errors.New("nobody there")
					}
					return u.open(ctx)
				}
				report, err := live.Run(t.Context(), cfg)
				require.NoError(t, err)
				u.running.Wait()
				assert.False(t, report.OK)
				assert.Zero(t, report.Failed)
				assert.NotZero(t, report.Passed)
				assert.NotZero(t, report.Missed)
				assert.Equal(t, report.NotRun, report.Missed)
				for _, r := range report.Results {
					assert.Equal(t, r.Verdict == live.NotRun, r.Missed, r.Rule)
				}
				assert.Contains(t, textOf(t, report), fmt.Sprintf("\nno success: %d of %d rules had no connection", report.Missed, len(report.Results)))
			})
		})
	}
}

func TestAPeerThatWasWaitedForInVainIsNotWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnderTest(t, dialer)
		cfg, opened := u.config(live.Dialer), 0
		cfg.Open = func(ctx context.Context) (connect.Transport, error) {
			if opened++; opened > 1 {
				<-time.After(time.Minute)
				return nil, fmt.Errorf("nobody came: %w", context.DeadlineExceeded)
			}
			return u.open(ctx)
		}
		began := time.Now()
		report, err := live.Run(t.Context(), cfg)
		require.NoError(t, err)
		u.running.Wait()
		assert.Equal(t, 2, opened)
		assert.Less(t, time.Since(began), 2*time.Minute)
		assert.Greater(t, report.Missed, 1)
		for _, r := range report.Results {
			if r.Missed {
				assert.Contains(t, r.Detail, "nobody came", r.Rule)
			}
		}
	})
}

func TestADialerThatGivesUpOnAStrangerIsJudgedByAllElseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, visits := newUnderTest(t, nil), make(chan connect.Transport)
		redialer, err := connect.NewRedialer(connect.RedialConfig{
			DialConfig: connect.DialConfig{Config: u.base(), Remote: u.judge.PeerID()},
			Open: func(ctx context.Context) (connect.Transport, error) {
				mine, theirs := connect.Pipe()
				select {
				case visits <- theirs:
					return mine, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		})
		require.NoError(t, err)
		u.running.Go(func() { assert.Error(t, redialer.Run(t.Context()), "it gives up") })
		u.running.Go(func() {
			for t.Context().Err() == nil && redialer.State() != connect.Closed {
				_, _ = redialer.InvokeTool(t.Context(), toyworld.RollDiceID, map[string]int{"count": 1})
				<-time.After(time.Millisecond)
			}
		})
		cfg := u.config(live.Dialer)
		cfg.Open = func(ctx context.Context) (connect.Transport, error) {
			select {
			case visit := <-visits:
				return visit, nil
			case <-time.After(time.Minute):
				return nil, fmt.Errorf("nobody came: %w", context.DeadlineExceeded)
			}
		}
		report, err := live.Run(t.Context(), cfg)
		require.NoError(t, err)
		u.running.Wait()
		assert.Zero(t, report.Failed, textOf(t, report))
		assert.Equal(t, len(report.Results)-strange+1, report.Passed, "the first strange hello is the last that it sees")
		assert.Equal(t, strange-1, report.Missed)
	})
}

// strange is how many rules are about hellos of another version or of somebody else.
const strange = 13

func TestADialerThatHangsUpBeforeItsHelloIsNotJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		met := false
		u := newUnderTest(t, func(ctx context.Context, u *underTest, inner connect.Transport) {
			if met {
				inner.Close()
				return
			}
			met = true
			dialer(ctx, u, inner)
		})
		report := u.run(live.Dialer, "protocol version 2")
		assertVerdict(t, report, "protocol version 2", live.NotRun)
		assert.Equal(t, 1, report.Missed)
	})
}

func TestAToolThatWasNotNegotiatedIsRefused(t *testing.T) {
	for role, half := range halves {
		t.Run(string(role), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUnderTest(t, half)
				cfg := u.config(role)
				cfg.Tool = "tools.x.y"
				_, err := live.Run(t.Context(), cfg)
				u.running.Wait()
				var tool *live.ToolError
				require.ErrorAs(t, err, &tool)
				assert.Equal(t, "tools.x.y", tool.Tool)
				assert.Contains(t, tool.Negotiated, toyworld.RollDiceID)
				assert.NotContains(t, err.Error(), "no session")
			})
		})
	}
}

func TestAConfigThatLacksSomethingIsRefused(t *testing.T) {
	u := newUnderTest(t, responder)
	for name, spoil := range map[string]func(*live.Config){
		"no role":     func(c *live.Config) { c.Role = "" },
		"no opener":   func(c *live.Config) { c.Open = nil },
		"no identity": func(c *live.Config) { c.Identity = nil },
		"no tool id":  func(c *live.Config) { c.Tool = "bad" },
	} {
		cfg := u.config(live.Responder)
		spoil(&cfg)
		_, err := live.Run(t.Context(), cfg)
		assert.Error(t, err, name)
	}
	cfg := u.config(live.Dialer)
	cfg.Open = func(context.Context) (connect.Transport, error) { return nil, errors.New("nobody there") }
	_, err := live.Run(t.Context(), cfg)
	assert.ErrorContains(t, err, "nobody there")
}

func TestAReportHasNoCharactersOfAPeerThatCommandATerminal(t *testing.T) {
	report := live.Report{Results: []live.Result{{Rule: "a rule", Verdict: live.Fail, Detail: "said \x1b]0;x\a\u009b2J\t\u202eé"}}}
	var text strings.Builder
	require.NoError(t, report.WriteText(&text))
	assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x{7f}-\x{9f}\x{202e}]`, text.String())
	assert.Contains(t, text.String(), `said \x1b]0;x\a\u009b2J\t\u202eé`)
}

func TestALongValueIsCutBetweenCharacters(t *testing.T) {
	assert.Equal(t, "x"+strings.Repeat("é", 23)+"…", live.Clip("x"+strings.Repeat("é", 40)))
	assert.Equal(t, strings.Repeat("é", 24)+"…", live.Clip(strings.Repeat("é", 40)))
	assert.Equal(t, strings.Repeat("é", 24), live.Clip(strings.Repeat("é", 24)))
}
