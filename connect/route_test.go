package connect_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// equalApps all have the tool echo, and tell their letter.
func equalApps() []app {
	var apps []app
	for i, id := range routedApps {
		apps = append(apps, app{id: id, tools: spoke.ToolHandlers{echoTool: named(string(rune('a' + i)))}})
	}
	return apps
}

func letters(t *testing.T, r *connect.Router, n int) string {
	t.Helper()
	text := ""
	for range n {
		text += callTool(t.Context(), r, echoTool)
	}
	return text
}

func TestEqualPeersAreNotSpreadUnlessAskedFor(t *testing.T) {
	routing(t, connect.RouterConfig{}, equalApps(), func(t *testing.T, r *connect.Router, _ []link) {
		assert.Equal(t, "aaaaaa", letters(t, r, 6))
	})
	routing(t, connect.RouterConfig{Spread: 99}, equalApps(), func(t *testing.T, r *connect.Router, _ []link) {
		assert.Equal(t, "aaa", letters(t, r, 3), "a spread that there is not is none")
	})
}

func TestRoundRobinTakesEqualPeersInTurn(t *testing.T) {
	routing(t, connect.RouterConfig{Spread: connect.RoundRobin}, equalApps(), func(t *testing.T, r *connect.Router, links []link) {
		assert.Equal(t, "abcabc", letters(t, r, 6))
		links[1].host.Close()
		assert.Equal(t, "acac", letters(t, r, 4))
	})
}

func TestLeastInFlightTakesThePeerWithTheFewestCalls(t *testing.T) {
	apps := equalApps()
	release := make(chan struct{})
	for i := range apps {
		apps[i].tools[slowTool] = func(context.Context, json.RawMessage) (any, error) { <-release; return nil, nil }
	}
	routing(t, connect.RouterConfig{Spread: connect.LeastInFlight}, apps, func(t *testing.T, r *connect.Router, _ []link) {
		release = make(chan struct{})
		assert.Equal(t, "abcabc", letters(t, r, 6), "in turn while all are idle")
		done := make(chan string, 2)
		for range 2 {
			go func() { done <- callTool(t.Context(), r, slowTool) }()
			synctest.Wait()
		}
		assert.Equal(t, "cccc", letters(t, r, 4), "a and b are busy")
		close(release)
		<-done
		<-done
		assert.Equal(t, "abcabc", letters(t, r, 6), "and c was the last")
	})
}

func TestASpreadKeepsToTheFiltersAndTheRole(t *testing.T) {
	apps := equalApps()
	for i, role := range []string{"checker", "assembler", "checker"} {
		apps[i].shape = func(m *spoke.HostCapabilityManifest) { m.Roles = []string{role} }
	}
	delete(apps[0].tools, echoTool)
	for _, spread := range []connect.Spread{connect.RoundRobin, connect.LeastInFlight} {
		routing(t, connect.RouterConfig{Spread: spread}, apps, func(t *testing.T, r *connect.Router, links []link) {
			assert.Equal(t, "bcbc", letters(t, r, 4))
			a, b, c := routedApps[0].PeerID(), routedApps[1].PeerID(), routedApps[2].PeerID()
			before := [3]uint64{connect.LastTurn(r, a), connect.LastTurn(r, b), connect.LastTurn(r, c)}
			for range 2 {
				_, err := r.Invoke(t.Context(), "check", object{})
				require.Error(t, err) // these apps serve no such op
			}
			assert.Greater(t, connect.LastTurn(r, a), before[0])
			assert.Equal(t, before[1], connect.LastTurn(r, b), "the assembler was not asked")
			assert.Greater(t, connect.LastTurn(r, c), before[2])
		})
	}
}

// dying is a tool whose session ends while it runs.
func dying(calls *string, name string) spoke.ToolHandler {
	return func(ctx context.Context, _ json.RawMessage) (any, error) {
		*calls += name
		s, _ := connect.SessionFromContext(ctx)
		s.Close()
		return nil, nil
	}
}

// counting is a tool that answers.
func counting(calls *string, name string) spoke.ToolHandler {
	return func(context.Context, json.RawMessage) (any, error) { *calls += name; return name, nil }
}

func TestAnIdempotentToolIsRetriedElsewhereWhenTheSessionEndsUnderIt(t *testing.T) {
	for _, c := range []struct {
		name       string
		retries    int
		idempotent [3]bool
		dies       [3]bool
		calls      string // who ran it
		want       string // the answer, or the kind of the reject
	}{
		{"never by default", 0, [3]bool{true, true, true}, [3]bool{true}, "a", "session_closed"},
		{"on one other peer", 1, [3]bool{true, true, true}, [3]bool{true}, "ab", "b"},
		{"on as many as were asked for", 1, [3]bool{true, true, true}, [3]bool{true, true}, "ab", "session_closed"},
		{"one after the other", 2, [3]bool{true, true, true}, [3]bool{true, true}, "abc", "c"},
		{"each peer once", 9, [3]bool{true, true, true}, [3]bool{true, true, true}, "abc", "session_closed"},
		{"not when the first does not say idempotent", 9, [3]bool{false, true, true}, [3]bool{true}, "a", "session_closed"},
		{"only where the other says so too", 9, [3]bool{true, false, true}, [3]bool{true}, "ac", "c"},
		{"not when nobody else does", 9, [3]bool{true, false, false}, [3]bool{true}, "a", "session_closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := ""
			apps := equalApps()
			for i := range apps {
				name := string(rune('a' + i))
				apps[i].idempotent = c.idempotent[i]
				if apps[i].tools[echoTool] = counting(&calls, name); c.dies[i] {
					apps[i].tools[echoTool] = dying(&calls, name)
				}
			}
			routing(t, connect.RouterConfig{Retries: c.retries}, apps, func(t *testing.T, r *connect.Router, _ []link) {
				assert.Equal(t, c.want, callTool(t.Context(), r, echoTool))
				assert.Equal(t, c.calls, calls)
				assert.Zero(t, connect.InFlight(r))
			})
		})
	}
}

func TestWhatIsNotRetried(t *testing.T) {
	for name, c := range map[string]struct {
		handler spoke.ToolHandler
		want    string
	}{
		"a reject that only says that a session closed": {func(context.Context, json.RawMessage) (any, error) {
			return nil, spoke.Rejectf(spoke.CodeInternalError, "no").WithKind(spoke.KindSessionClosed)
		}, "session_closed"},
		"a reject that says transport": {func(context.Context, json.RawMessage) (any, error) {
			return nil, spoke.Rejectf(spoke.CodeInternalError, "no").WithKind(spoke.KindTransport)
		}, "transport"},
		"a call that takes too long": {func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return nil, nil }, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := ""
			apps := equalApps()[:2]
			apps[0].idempotent, apps[1].idempotent = true, true
			apps[0].tools[echoTool], apps[1].tools[echoTool] = c.handler, counting(&calls, "b")
			routing(t, connect.RouterConfig{Retries: 3}, apps, func(t *testing.T, r *connect.Router, _ []link) {
				assert.Equal(t, c.want, callTool(t.Context(), r, echoTool))
				assert.Empty(t, calls)
			})
		})
	}
}

func TestAPortIsNeverRetried(t *testing.T) {
	first, second := &stub{}, &stub{}
	first.during = func(ctx context.Context) { s, _ := connect.SessionFromContext(ctx); s.Close() }
	apps := []app{{id: routedApps[0], ports: first}, {id: routedApps[1], ports: second}}
	routing(t, connect.RouterConfig{Retries: 3}, apps, func(t *testing.T, r *connect.Router, _ []link) {
		_, err := r.GetKnowledgeEntry(t.Context(), "bell")
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "session_closed"})
		assert.Empty(t, second.last())
	})
}

func TestACallerThatGaveUpIsNotServedElsewhere(t *testing.T) {
	calls := ""
	apps := equalApps()[:2]
	apps[0].idempotent, apps[1].idempotent = true, true
	ctx, cancel := context.WithCancel(t.Context())
	apps[0].tools[echoTool] = func(c context.Context, _ json.RawMessage) (any, error) {
		cancel()
		s, _ := connect.SessionFromContext(c)
		s.Close()
		return nil, nil
	}
	apps[1].tools[echoTool] = counting(&calls, "b")
	routing(t, connect.RouterConfig{Retries: 3}, apps, func(t *testing.T, r *connect.Router, _ []link) {
		_, err := r.InvokeTool(ctx, echoTool, nil)
		require.Error(t, err)
		assert.Empty(t, calls)
	})
}
