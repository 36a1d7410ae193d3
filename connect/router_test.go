package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// routedApps are identities in the order of their peer ids.
var routedApps = func() []*connect.Identity {
	apps := []*connect.Identity{identityOf(1), identityOf(2), identityOf(3)}
	slices.SortFunc(apps, func(a, b *connect.Identity) int { return strings.Compare(string(a.PeerID()), string(b.PeerID())) })
	return apps
}()

// app is what an app of a router's test is like.
type app struct {
	id           *connect.Identity
	tools        spoke.ToolHandlers
	capabilities []string
	idempotent   bool
	ports        any
	shape        func(m *spoke.HostCapabilityManifest)
}

func (a app) manifest() spoke.HostCapabilityManifest {
	m := testManifest("app-"+string(a.id.PeerID()), tellIDs(a.tools)...)
	m.Capabilities = append(m.Capabilities, a.capabilities...)
	for i := range m.Tools {
		m.Tools[i].Idempotent = &a.idempotent
	}
	if a.shape != nil {
		a.shape(&m)
	}
	return m
}

func tellIDs(tools spoke.ToolHandlers) []string {
	var ids []string
	for id := range tools {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// hosted connects an app to the host that routes.
func hosted(t testing.TB, a app) link {
	t.Helper()
	dial, respond := dialConfig(), responderConfig()
	dial.Identity, dial.Manifest, dial.Tools, dial.Ports = a.id, a.manifest(), a.tools, a.ports
	respond.Allow = []connect.PeerID{a.id.PeerID()}
	respond.Manifest.Capabilities = append(respond.Manifest.Capabilities, optional...)
	return connectPair(t, dial, respond)
}

// named is a tool that answers with a name.
func named(name string) spoke.ToolHandler {
	return func(context.Context, json.RawMessage) (any, error) { return name, nil }
}

// routing runs f with a router of the host's over sessions of apps.
func routing(t *testing.T, cfg connect.RouterConfig, apps []app, f func(t *testing.T, r *connect.Router, links []link)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		r := connect.NewRouter(cfg)
		var links []link
		for _, a := range apps {
			l := hosted(t, a)
			defer l.close()
			links = append(links, l)
			require.NoError(t, r.Register(l.host))
		}
		f(t, r, links)
	})
}

// threeApps have one tool of their own each, and one in common that tells which it is.
func threeApps() []app {
	var apps []app
	for i, id := range []string{echoTool, otherTool, slowTool} {
		name := string(rune('a' + i))
		apps = append(apps, app{id: routedApps[i], tools: spoke.ToolHandlers{id: named("own " + name)}})
	}
	return apps
}

// callTool returns the text that a tool answered, or the kind of the reject.
func callTool(ctx context.Context, invoker spoke.ToolInvoker, id string) string {
	got, err := invoker.InvokeTool(ctx, id, nil)
	if err != nil {
		return spoke.KindOf(err)
	}
	return strings.Trim(string(got), `"`)
}

func TestARouterRunsEachToolOnThePeerThatHasIt(t *testing.T) {
	routing(t, connect.RouterConfig{}, threeApps(), func(t *testing.T, r *connect.Router, _ []link) {
		assert.Equal(t, "own a", callTool(t.Context(), r, echoTool))
		assert.Equal(t, "own b", callTool(t.Context(), r, otherTool))
		assert.Equal(t, "own c", callTool(t.Context(), r, slowTool))
		got, err := r.Invoke(t.Context(), otherTool, object{"arguments": object{}})
		require.NoError(t, err)
		assert.JSONEq(t, `{"result":"own b"}`, string(got))
	})
}

func TestARouterReachesPeersThatItDialed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := connect.NewRouter(connect.RouterConfig{})
		l := connectPair(t, dialConfig(), responderConfig())
		defer l.close()
		require.NoError(t, r.Register(l.app))
		assert.Equal(t, []connect.PeerID{hostID.PeerID()}, r.Peers())
		got, err := r.InvokeTool(t.Context(), echoTool, object{"n": 1})
		require.NoError(t, err)
		assert.JSONEq(t, `{"n":1}`, string(got))
	})
}

func TestARouterDrivesEveryPortOfThePeerThatHasIt(t *testing.T) {
	provider := &stub{}
	apps := []app{
		{id: routedApps[0], shape: func(m *spoke.HostCapabilityManifest) { m.Capabilities = []string{"test.ops"} }},
		{id: routedApps[1], ports: provider, capabilities: optional},
	}
	routing(t, connect.RouterConfig{}, apps, func(t *testing.T, r *connect.Router, _ []link) {
		require.Len(t, portCases, 12)
		for _, c := range portCases {
			got, err := c.drive(t.Context(), r.Ports)
			require.NoError(t, err, c.op)
			assert.Equal(t, c.payload, provider.last(), c.op)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			assert.JSONEq(t, c.answer, string(text), c.op)
		}
	})
}

func TestAScopeDecidesWhichPeersPortIsDriven(t *testing.T) {
	harbor, forest := &stub{}, &stub{}
	apps := []app{
		{id: routedApps[0], ports: harbor},
		{id: routedApps[1], ports: forest, shape: func(m *spoke.HostCapabilityManifest) { m.Namespaces = []string{"forest"} }},
	}
	routing(t, connect.RouterConfig{}, apps, func(t *testing.T, r *connect.Router, _ []link) {
		payload := raw(`{"scope":{"scope_id":"s","entry_ids":[],"namespace":"forest"}}`)
		_, err := r.Invoke(t.Context(), "port.scope.list_timeline_events", payload)
		require.NoError(t, err)
		assert.Contains(t, forest.last(), "forest")
		assert.Empty(t, harbor.last())
		_, err = r.Invoke(t.Context(), "port.scope.list_timeline_events", raw(`{"scope":{"namespace":"sea"}}`))
		requireReject(t, err, spoke.CodeCapabilityPortMissing, nobody("port.scope.list_timeline_events"))
	})
}

func TestARouterIsServedAsTheHostsOwnPorts(t *testing.T) {
	provider := &stub{}
	routing(t, connect.RouterConfig{}, []app{{id: routedApps[0], ports: provider}}, func(t *testing.T, r *connect.Router, _ []link) {
		l := hostedWith(t, r)
		defer l.close()
		_, err := l.app.GetKnowledgeEntry(t.Context(), "bell")
		require.NoError(t, err)
		assert.Equal(t, `{"entry_id":"bell"}`, provider.last())
		manifests, err := l.app.ListPeerHostCapabilityManifests(t.Context())
		require.NoError(t, err)
		require.Len(t, manifests, 1)
		assert.Equal(t, "app-"+string(routedApps[0].PeerID()), manifests[0].HostID)
	})
}

// hostedWith connects the usual app to a host that serves ports.
func hostedWith(t testing.TB, ports any) link {
	t.Helper()
	respond := responderConfig()
	respond.Ports = ports
	return connectPair(t, dialConfig(), respond)
}

func TestTheRejectOfThePeerComesBackUntouched(t *testing.T) {
	refuse := func(context.Context, json.RawMessage) (any, error) {
		return nil, spoke.Rejectf(spoke.CodeRelationNotFound, "gone").WithDetail("x", "y")
	}
	var calls atomic.Int32
	apps := []app{
		{id: routedApps[0], idempotent: true, tools: spoke.ToolHandlers{echoTool: refuse}},
		{id: routedApps[1], idempotent: true, tools: spoke.ToolHandlers{echoTool: func(context.Context, json.RawMessage) (any, error) { calls.Add(1); return nil, nil }}},
	}
	routing(t, connect.RouterConfig{Retries: 5}, apps, func(t *testing.T, r *connect.Router, links []link) {
		_, want := links[0].host.InvokeTool(t.Context(), echoTool, nil)
		_, err := r.InvokeTool(t.Context(), echoTool, nil)
		assert.Equal(t, want, err)
		assert.True(t, requireReject(t, err, spoke.CodeRelationNotFound, map[string]any{"x": "y"}).Remote())
		assert.Zero(t, calls.Load(), "nobody else is asked")
	})
}

func TestWhatARouterRefusesBeforeItSelects(t *testing.T) {
	routing(t, connect.RouterConfig{}, threeApps(), func(t *testing.T, r *connect.Router, _ []link) {
		for _, id := range []string{"echo", "tools.Test.Echo", "tools.test.echo\n", ""} {
			_, err := r.InvokeTool(t.Context(), id, nil)
			requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": id})
		}
		_, err := r.Invoke(t.Context(), "tools.bad", nil)
		requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": "tools.bad"})
		_, err = r.Invoke(t.Context(), "check", func() {})
		requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"field": "payload"})
		for _, op := range []string{"mystery.op", "tools.test.nobody", "compute", "port.fork.list_timeline_events"} {
			_, err = r.Invoke(t.Context(), op, object{})
			reject := requireReject(t, err, spoke.CodeCapabilityPortMissing, nobody(op))
			assert.Equal(t, "no_capable_peer", reject.WireCode())
			assert.False(t, reject.Remote())
		}
	})
}

func TestOpsOfTheApplicationAreRoutedByTheCapabilityThatTheyAreGiven(t *testing.T) {
	ops := map[string]string{"test.own": "test.ops", "test.rare": "test.none", "test.void": "", "compute": connect.CapabilityBaseline}
	routing(t, connect.RouterConfig{Ops: ops}, threeApps(), func(t *testing.T, r *connect.Router, links []link) {
		ops["test.late"] = "test.ops"
		_, err := r.Invoke(t.Context(), "test.own", object{})
		assert.True(t, rejectOf(t, err).Remote(), "it reached a peer, which serves no such op")
		for _, op := range []string{"test.rare", "test.void", "test.late", "test.other", "compute"} {
			_, err := r.Invoke(t.Context(), op, object{})
			requireReject(t, err, spoke.CodeCapabilityPortMissing, nobody(op))
		}
	})
}

func TestASessionThatClosedIsNoCandidateAnyMore(t *testing.T) {
	apps := []app{
		{id: routedApps[0], tools: spoke.ToolHandlers{echoTool: named("a")}},
		{id: routedApps[1], tools: spoke.ToolHandlers{echoTool: named("b")}},
	}
	routing(t, connect.RouterConfig{}, apps, func(t *testing.T, r *connect.Router, links []link) {
		assert.Equal(t, "a", callTool(t.Context(), r, echoTool))
		links[0].host.Close()
		assert.Equal(t, "b", callTool(t.Context(), r, echoTool), "at once")
		assert.Equal(t, 1, connect.RoutedCount(r), "nothing keeps it in memory")
		assert.Equal(t, []connect.PeerID{routedApps[1].PeerID()}, r.Peers())
		assert.Len(t, r.GetHostCapabilityManifest().Tools, 1)
		links[1].app.Close() // from the other side
		<-links[1].host.Done()
		assert.Equal(t, "no_capable_peer", callTool(t.Context(), r, echoTool))
		assert.Empty(t, r.Peers())
	})
}

func TestRegisteringForgetsTheSessionsThatEnded(t *testing.T) {
	routing(t, connect.RouterConfig{}, threeApps(), func(t *testing.T, r *connect.Router, links []link) {
		links[0].host.Close()
		links[1].host.Close()
		require.NoError(t, r.Register(links[2].host))
		assert.Equal(t, 1, connect.RoutedCount(r), "though nobody asks for the peers or calls one")
	})
}

// comingAndGoing is a peer whose session is sometimes up.
type comingAndGoing struct {
	id connect.PeerID
	mu sync.Mutex
	up *connect.Session
}

func (c *comingAndGoing) RemotePeerID() connect.PeerID { return c.id }

func (c *comingAndGoing) CurrentSession() *connect.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up == nil {
		return nil
	}
	return c.up.CurrentSession()
}

func (c *comingAndGoing) set(s *connect.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = s
}

func TestAPeerThatKeepsItsSessionUpReentersWhenItIsUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := app{id: routedApps[0], tools: spoke.ToolHandlers{echoTool: named("a")}}
		peer := &comingAndGoing{id: a.id.PeerID()}
		r := connect.NewRouter(connect.RouterConfig{})
		require.NoError(t, r.Register(peer))
		for range 3 {
			assert.Equal(t, "no_capable_peer", callTool(t.Context(), r, echoTool))
			assert.Equal(t, []connect.PeerID{peer.id}, r.Peers(), "it stays registered")
			assert.Empty(t, r.GetHostCapabilityManifest().Tools)
			l := hosted(t, a)
			peer.set(l.host.Session)
			assert.Equal(t, "a", callTool(t.Context(), r, echoTool))
			l.close()
		}
	})
}

func TestAPeerThatComesBackWithOtherToolsIsRoutedByThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		peer := &comingAndGoing{id: routedApps[0].PeerID()}
		r := connect.NewRouter(connect.RouterConfig{})
		require.NoError(t, r.Register(peer))
		for _, id := range []string{echoTool, otherTool} {
			l := hosted(t, app{id: routedApps[0], tools: spoke.ToolHandlers{id: named(id)}})
			peer.set(l.host.Session)
			assert.Equal(t, id, callTool(t.Context(), r, id))
			l.close()
		}
	})
}

func TestTheRegistry(t *testing.T) {
	routing(t, connect.RouterConfig{}, threeApps(), func(t *testing.T, r *connect.Router, links []link) {
		all := []connect.PeerID{routedApps[0].PeerID(), routedApps[1].PeerID(), routedApps[2].PeerID()}
		assert.Equal(t, all, r.Peers())
		r.Unregister(all[1])
		r.Unregister(all[1])
		r.Unregister("nobody")
		assert.Equal(t, []connect.PeerID{all[0], all[2]}, r.Peers())
		assert.Equal(t, "no_capable_peer", callTool(t.Context(), r, otherTool))
		assert.Equal(t, connect.Established, links[1].host.State(), "its session is left alone")
		require.NoError(t, r.Register(links[1].host))
		assert.Equal(t, []connect.PeerID{all[0], all[2], all[1]}, r.Peers(), "in the order of registration")

		second := hosted(t, app{id: routedApps[0], tools: spoke.ToolHandlers{echoTool: named("second")}})
		defer second.close()
		require.NoError(t, r.Register(second.host))
		assert.Equal(t, []connect.PeerID{all[0], all[2], all[1]}, r.Peers(), "the same peer takes its own place")
		assert.Equal(t, "second", callTool(t.Context(), r, echoTool))
		assert.Error(t, r.Register(nil))
		assert.Len(t, r.Peers(), 3)
	})
}

func TestPeersComeAndGoWhileCallsAreUnderWay(t *testing.T) {
	apps := []app{
		{id: routedApps[0], tools: spoke.ToolHandlers{echoTool: named("a"), otherTool: named("a")}},
		{id: routedApps[1], tools: spoke.ToolHandlers{echoTool: named("b")}},
		{id: routedApps[2], tools: spoke.ToolHandlers{echoTool: named("c")}},
	}
	for _, spread := range []connect.Spread{connect.LowestPeerID, connect.RoundRobin, connect.LeastInFlight} {
		routing(t, connect.RouterConfig{Spread: spread}, apps, func(t *testing.T, r *connect.Router, links []link) {
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					for range 50 {
						got := callTool(t.Context(), r, echoTool)
						assert.Contains(t, []string{"a", "b", "c", "no_capable_peer"}, got)
						r.Peers()
						r.GetHostCapabilityManifest()
					}
				})
				if i < len(links) {
					all.Go(func() {
						for range 50 {
							r.Unregister(links[i].host.RemotePeerID())
							assert.NoError(t, r.Register(links[i].host))
						}
					})
				}
			}
			all.Wait()
			assert.Len(t, r.Peers(), 3)
			assert.Zero(t, connect.InFlight(r))
		})
	}
}

func TestManyCallsGoThroughARouterAtOnce(t *testing.T) {
	release := make(chan struct{})
	var running atomic.Int32
	held := func(context.Context, json.RawMessage) (any, error) { running.Add(1); <-release; return nil, nil }
	apps := []app{{id: routedApps[0], tools: spoke.ToolHandlers{slowTool: held, echoTool: named("a")}}}
	routing(t, connect.RouterConfig{}, apps, func(t *testing.T, r *connect.Router, _ []link) {
		release = make(chan struct{})
		done := make(chan error, 20)
		for range 20 {
			go func() { _, err := r.InvokeTool(t.Context(), slowTool, nil); done <- err }()
		}
		synctest.Wait()
		assert.EqualValues(t, 20, running.Load())
		assert.Equal(t, 20, connect.InFlight(r))
		assert.Equal(t, "a", callTool(t.Context(), r, echoTool), "no call waits for another")
		close(release)
		var errs []error
		for range 20 {
			errs = append(errs, <-done)
		}
		assert.NoError(t, errors.Join(errs...))
	})
}

func TestARegisteredRedialerReentersWhenItsSessionIsUpAgain(t *testing.T) {
	redialed(t, nil, func(t *testing.T, n *network, s *connect.Server, r *redialing) {
		router := connect.NewRouter(connect.RouterConfig{})
		require.NoError(t, router.Register(r.Redialer))
		_, err := r.AwaitSession(t.Context())
		require.NoError(t, err)
		_, err = router.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)

		n.to(nil)
		_, err = router.InvokeTool(t.Context(), echoTool, nil)
		assert.Equal(t, spoke.KindNoCapablePeer, spoke.KindOf(err))

		n.to(s)
		_, err = r.AwaitSession(t.Context())
		require.NoError(t, err)
		_, err = router.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	})
}
