package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func identityOf(t testing.TB, n byte) *connect.Identity {
	t.Helper()
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{n}, 32))
	require.NoError(t, err)
	return id
}

// side is one peer: what it offers and what it wants to call.
type side struct {
	registry *tools.Registry
	wants    []string
}

func (s side) config(id, peer *connect.Identity) connect.Config {
	base := spoke.HostCapabilityManifest{SchemaVersion: 1, HostID: "h", Roles: []string{"input-source"},
		Capabilities: append([]string{"spoke-baseline"}, s.wants...), Namespaces: []string{"base"}}
	return connect.Config{Identity: id, Manifest: s.registry.Describe(base), Allow: []connect.PeerID{peer.PeerID()},
		Tools: s.registry, Nonces: connect.NewNonceStore(0)}
}

// joined holds a session over a pipe. It is closed at the end of the test.
func joined(t testing.TB, app, host side) (*connect.RemoteAdapter, *connect.Responder) {
	t.Helper()
	appID, hostID := identityOf(t, 1), identityOf(t, 2)
	a, b := connect.Pipe()
	accepted := make(chan error, 1)
	var responder *connect.Responder
	go func() {
		var err error
		responder, err = connect.Accept(t.Context(), b, connect.ResponderConfig{Config: host.config(hostID, appID)})
		accepted <- err
	}()
	adapter, err := connect.Dial(t.Context(), a, connect.DialConfig{Config: app.config(appID, hostID), Remote: hostID.PeerID()})
	require.NoError(t, err)
	require.NoError(t, <-accepted)
	return adapter, responder
}

func closeBoth(adapter *connect.RemoteAdapter, responder *connect.Responder) {
	adapter.Close()
	responder.Close()
	adapter.Wait()
	responder.Wait()
}

func TestARegistryServesBothFacesAndKnowsItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whoID := "tools.test.who"
		who := tools.New(whoID, "Say who called.", func(ctx context.Context, _ struct{}) (spoke.Caller, error) {
			c, ok := spoke.CallerFromContext(ctx)
			if !ok {
				return c, errors.New("nobody")
			}
			return c, nil
		})
		both := open(t, who)
		adapter, responder := joined(t, side{both, nil}, side{both, nil})
		defer closeBoth(adapter, responder)
		for _, s := range []*connect.Session{adapter.Session, responder.Session} {
			got, err := tools.Call[struct{}, spoke.Caller](t.Context(), s, whoID, struct{}{})
			require.NoError(t, err)
			assert.Equal(t, spoke.Caller{PeerID: string(s.LocalPeerID()), SessionID: s.ID()}, got)
		}
		_, err := both.InvokeTool(t.Context(), whoID, nil)
		assert.Error(t, err, "a local call has no caller")
		require.Len(t, tools.Discover(adapter.RemoteManifest(), nil).List(), 1)
	})
}

// What a peer may call stays what was negotiated, whatever happens to the registry.
func TestARegistryCanChangeDuringASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gone, changed, later, hidden = "tools.a.gone", "tools.a.changed", "tools.a.later", "tools.a.hidden"
		r := one(t, tools.ReadWrite(), named(gone, "read"), named(changed, "read"), named(hidden, "critical"))
		app := side{tools.NewRegistry(tools.Config{}), []string{gone, changed, later, hidden}}
		adapter, responder := joined(t, app, side{r, []string{hidden}})
		defer closeBoth(adapter, responder)
		call := func(id string) (string, error) {
			got, err := adapter.InvokeTool(t.Context(), id, nil)
			return string(got), err
		}
		for _, id := range []string{gone, changed} {
			got, err := call(id)
			require.NoError(t, err)
			assert.Equal(t, `"`+id+`"`, got)
		}
		_, err := call(hidden)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"kind": tools.KindDenied, "capability_id": hidden, "policy": "critical"})

		r.Remove(gone)
		_, err = call(gone)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"wire_code": "op_unsupported"})

		require.NoError(t, r.Register(named(later, "read")))
		_, err = call(later)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"wire_code": "op_unsupported"})

		require.NoError(t, r.Replace(tools.New(changed, "d", func(context.Context, struct{}) (int, error) { return 7, nil }).
			With(tools.Metadata{Policy: tools.PolicyRead})))
		_, err = call(changed)
		reject := rejectOf(t, err)
		assert.Equal(t, spoke.KindResult, reject.Kind(), "the session negotiated text")

		require.NoError(t, r.Replace(named(changed, "read")))
		got, err := call(changed)
		require.NoError(t, err)
		assert.Equal(t, `"`+changed+`"`, got)
		r.SetGuard(tools.Disabled())
		_, err = call(changed)
		assert.Equal(t, tools.KindDenied, spoke.KindOf(err))
	})
}

func TestASessionCanHaveALowerCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const read, write = "tools.a.read", "tools.a.write"
		r := one(t, tools.FullAccess(), named(read, "read"), named(write, "write"))
		app := side{tools.NewRegistry(tools.Config{}), []string{read, write}}
		adapter, responder := joined(t, app, side{r.Lower(tools.PolicyRead), nil})
		defer closeBoth(adapter, responder)
		assert.Len(t, adapter.RemoteTools(), 1)
		_, err := adapter.InvokeTool(t.Context(), read, nil)
		assert.NoError(t, err)
		_, err = adapter.InvokeTool(t.Context(), write, nil)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"wire_code": "op_unsupported"})
	})
}

func TestAFailureAndAReasonCrossTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := tools.Available()
		tool := failing(&tools.Failure{Code: "disk_full", Message: "no room", Retryable: true}).
			With(tools.Metadata{Probe: func(context.Context) tools.Availability { return state }})
		adapter, responder := joined(t, side{open(t, tool), nil}, side{open(t), []string{echoID}})
		defer closeBoth(adapter, responder)
		_, err := responder.InvokeTool(t.Context(), echoID, nil)
		got, ok := tools.FailureOf(err)
		require.True(t, ok)
		assert.Equal(t, &tools.Failure{Code: "disk_full", Message: "no room", Retryable: true, Details: map[string]any{}}, got)
		state = tools.Unavailable("no_disk", "out")
		_, err = responder.InvokeTool(t.Context(), echoID, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": tools.KindUnavailable,
			"capability_id": echoID, "available": false, "code": "no_disk", "reason": "out"})
		told, ok := tools.AvailabilityOf(err)
		assert.True(t, ok)
		assert.Equal(t, state, told)
		results, err := tools.Batch(t.Context(), responder, batchOf(echoID, echoID), tools.ContinueOnError)
		require.NoError(t, err)
		assert.Len(t, results, 2)
	})
}

// A schema of hundreds of members takes hundreds of times as many allocations to
// compile as a call takes. Calls stay far below, so none compiles.
func TestNoCallCompilesASchema(t *testing.T) {
	d := spoke.ToolDescriptor{CapabilityID: t0, Description: "d", Input: json.RawMessage(wide(300)), Output: json.RawMessage(wide(300))}
	handler := func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }
	compilation := allocations(func() { tools.Raw(d, handler) })
	r := open(t, tools.Raw(d, handler))
	served, ok := r.ToolHandler(t0)
	require.True(t, ok)
	cache := tools.NewSchemaCache(1)
	c := tools.Discover(offer(wide(300), wide(301)), cache)
	checked, err := c.Checked(r, t0)
	require.NoError(t, err)
	_, err = c.Checked(r, t1) // pushes the schemas of t0 out of the cache
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"a local call":  func() error { _, err := r.InvokeTool(t.Context(), t0, nil); return err },
		"a session's":   func() error { _, err := served(t.Context(), json.RawMessage(`{}`)); return err },
		"a checked one": func() error { _, err := checked.InvokeTool(t.Context(), t0, nil); return err },
		"a refused one": func() error { _, err := r.InvokeTool(t.Context(), t0, json.RawMessage(`{"m1":1}`)); return unless(err) },
		"refused for a bound": func() error {
			_, err := r.InvokeTool(t.Context(), t0, json.RawMessage(`{"m1":""}`))
			return unless(err)
		},
	} {
		n := allocations(func() { assert.NoError(t, call(), name) })
		t.Logf("%s: %.0f allocations, a compilation: %.0f", name, n, compilation)
		assert.Less(t, n, compilation/20, name)
	}
}

// unless wants an error.
func unless(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return nil
}
