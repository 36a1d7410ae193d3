package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// named returns a tool of the policy that answers its own id.
func named(id string, policy tools.Policy) *tools.Tool {
	return tools.New(id, "Answer the id.", func(context.Context, struct{}) (string, error) { return id, nil }).
		With(tools.Metadata{Policy: policy})
}

func one(t testing.TB, guard tools.Guard, list ...*tools.Tool) *tools.Registry {
	t.Helper()
	r := tools.NewRegistry(tools.Config{Guard: guard})
	require.NoError(t, r.Register(list...))
	return r
}

func threePolicies(t testing.TB, guard tools.Guard) *tools.Registry {
	return one(t, guard, named("tools.a.read", tools.PolicyRead), named("tools.b.write", tools.PolicyWrite),
		named("tools.a.critical", tools.PolicyCritical), named("tools.b.silent", ""))
}

func TestARegistryKeepsTheOrderOfRegistration(t *testing.T) {
	r := one(t, tools.FullAccess(), named("tools.b.x", "read"), named("tools.a.x", "read"), named("tools.c.x", "read"))
	require.NoError(t, r.Register(named("tools.a.a", "read")))
	assert.Equal(t, []string{"tools.b.x", "tools.a.x", "tools.c.x", "tools.a.a"}, idsOf(r.List(t.Context())))

	require.NoError(t, r.Replace(named("tools.a.x", "write")))
	assert.True(t, r.Remove("tools.b.x"))
	assert.False(t, r.Remove("tools.b.x"))
	require.NoError(t, r.Register(named("tools.b.x", "read")))
	list := r.List(t.Context())
	assert.Equal(t, []string{"tools.a.x", "tools.c.x", "tools.a.a", "tools.b.x"}, idsOf(list))
	assert.Equal(t, tools.PolicyWrite, list[0].Metadata().Policy)
	for _, e := range list {
		found, ok := r.Find(t.Context(), e.ID())
		assert.True(t, ok)
		assert.Equal(t, e, found, "the index follows the order")
		got, err := r.InvokeTool(t.Context(), e.ID(), nil)
		require.NoError(t, err)
		assert.Equal(t, strconv.Quote(e.ID()), string(got))
	}
}

func TestRegisterTakesAllToolsOrNone(t *testing.T) {
	good := named("tools.a.x", "read")
	for name, c := range map[string]struct {
		bad *tools.Tool
		id  any
	}{
		"an id outside the grammar": {named("tools.A.x", "read"), "tools.A.x"},
		"an id that is taken":       {named("tools.taken.x", "read"), "tools.taken.x"},
		"an id that stands twice":   {named("tools.a.x", "write"), "tools.a.x"},
		"an unknown policy":         {named("tools.a.y", "Read"), "tools.a.y"},
		"no description":            {tools.New("tools.a.y", "", func(context.Context, any) (any, error) { return nil, nil }), "tools.a.y"},
		"no function":               {tools.New[any, any]("tools.a.y", "d", nil), "tools.a.y"},
		"no handler":                {tools.Raw(spoke.ToolDescriptor{CapabilityID: "tools.a.y", Description: "d"}, nil), "tools.a.y"},
		"another op":                {tools.Raw(spoke.ToolDescriptor{CapabilityID: "tools.a.y", Op: "tools.a.z", Description: "d"}, noop), "tools.a.y"},
		"a schema without an end": {tools.Raw(spoke.ToolDescriptor{CapabilityID: "tools.a.y", Description: "d",
			Input: json.RawMessage(`{"allOf":[{"$ref":"#"}]}`)}, noop), "tools.a.y"},
		"a negative timeout":     {good.With(tools.Metadata{Timeout: -1}), "tools.a.x"},
		"a negative concurrency": {good.With(tools.Metadata{Concurrency: -1}), "tools.a.x"},
		"no tool":                {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(t, tools.FullAccess(), named("tools.taken.x", "read"))
			generation := r.Generation()
			reject := rejectOf(t, r.Register(good, c.bad))
			assert.Equal(t, spoke.CodeInvalidInput, reject.Code)
			assert.Equal(t, c.id, reject.Details["capability_id"])
			assert.Equal(t, []string{"tools.taken.x"}, idsOf(r.List(t.Context())))
			assert.Equal(t, generation, r.Generation())
		})
	}
}

func TestReplaceNeedsAGoodToolAndOneToReplace(t *testing.T) {
	r := one(t, tools.FullAccess(), named("tools.a.x", "read"))
	before := r.List(t.Context())
	for name, bad := range map[string]*tools.Tool{
		"no tool":            nil,
		"none of that id":    named("tools.a.y", "read"),
		"a tool with errors": named("tools.a.x", "unknown"),
	} {
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(r.Replace(bad)), name)
		assert.Equal(t, before, r.List(t.Context()), name)
	}
}

// tree says by its own schema that it contains itself.
type tree struct {
	Children []tree `json:"children"`
}

const treeSchema = `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`

func (tree) JSONSchema() json.RawMessage { return json.RawMessage(treeSchema) }

func TestAToolMayTakeAndReturnWhatRecurses(t *testing.T) {
	schema := json.RawMessage(treeSchema)
	args := json.RawMessage(`{"children":[{"children":[]},{"children":[{"children":[]}]}]}`)
	for name, tool := range map[string]*tools.Tool{
		"raw": tools.Raw(spoke.ToolDescriptor{CapabilityID: "tools.a.y", Description: "d", Input: schema, Output: schema},
			func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }),
		"typed": tools.New("tools.a.y", "d", func(_ context.Context, in tree) (tree, error) { return in, nil }),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, tool.Err())
			r := one(t, tools.FullAccess(), tool)
			got, err := r.InvokeTool(t.Context(), "tools.a.y", args)
			require.NoError(t, err)
			assert.JSONEq(t, string(args), string(got))
			_, err = r.InvokeTool(t.Context(), "tools.a.y", json.RawMessage(`{"children":[{"children":[1]}]}`))
			assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
		})
	}
}

func noop(context.Context, json.RawMessage) (any, error) { return nil, nil }

// The guard is looked at when tools are listed, when the manifest is written and when
// one is called.
func TestTheGuardHoldsAtListAndAtCall(t *testing.T) {
	read, write := "tools.a.read", "tools.b.write"
	critical, silent := "tools.a.critical", "tools.b.silent"
	all := []string{read, write, critical, silent}
	for name, c := range map[string]struct {
		guard     tools.Guard
		seen, ran []string
	}{
		"the zero guard":    {tools.Guard{}, nil, nil},
		"disabled":          {tools.Disabled(), nil, nil},
		"read only":         {tools.ReadOnly(), []string{read}, []string{read}},
		"read and write":    {tools.ReadWrite(), []string{read, write}, []string{read, write}},
		"full access":       {tools.FullAccess(), all, all},
		"no discovery":      {tools.Guard{Execution: true, MaxPolicy: tools.PolicyRead}, nil, []string{read}},
		"no execution":      {tools.Guard{Discovery: true, MaxPolicy: tools.PolicyCritical}, all, nil},
		"an unknown policy": {tools.Guard{Discovery: true, Execution: true, MaxPolicy: "all"}, nil, nil},
		"no policy":         {tools.Guard{Discovery: true, Execution: true}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			checkGuard(t, threePolicies(t, c.guard), c.seen, c.ran)
			later := threePolicies(t, tools.FullAccess())
			before := later.Generation()
			later.SetGuard(c.guard)
			assert.Equal(t, c.guard, later.Guard())
			assert.Greater(t, later.Generation(), before)
			checkGuard(t, later, c.seen, c.ran)
		})
	}
}

func checkGuard(t *testing.T, r *tools.Registry, seen, ran []string) {
	t.Helper()
	assert.ElementsMatch(t, seen, idsOf(r.List(t.Context())))
	var described []string
	for _, d := range r.Describe(spoke.HostCapabilityManifest{}).Tools {
		described = append(described, d.CapabilityID)
	}
	assert.ElementsMatch(t, seen, described)
	var answered []string
	for _, id := range []string{"tools.a.read", "tools.b.write", "tools.a.critical", "tools.b.silent"} {
		_, found := r.Find(t.Context(), id)
		assert.Equal(t, slices.Contains(seen, id), found, id)
		_, err := r.InvokeTool(t.Context(), id, nil)
		if err == nil {
			answered = append(answered, id)
			continue
		}
		r := rejectOf(t, err)
		assert.Equal(t, spoke.CodeCapabilityPortMissing, r.Code)
		assert.Equal(t, tools.KindDenied, r.Kind())
		assert.Equal(t, id, r.Details["capability_id"])
	}
	assert.ElementsMatch(t, ran, answered)
}

func TestACeilingOnlyLowers(t *testing.T) {
	r := threePolicies(t, tools.ReadWrite())
	checkGuard(t, r.Lower(tools.PolicyCritical), []string{"tools.a.read", "tools.b.write"}, []string{"tools.a.read", "tools.b.write"})
	checkGuard(t, r.Lower(tools.PolicyRead), []string{"tools.a.read"}, []string{"tools.a.read"})
	checkGuard(t, r.Lower(tools.PolicyRead).Lower(tools.PolicyCritical), []string{"tools.a.read"}, []string{"tools.a.read"})
	checkGuard(t, r.Lower("everything"), nil, nil)
	checkGuard(t, r.Lower(""), nil, nil)
	handler, ok := r.Lower(tools.PolicyRead).ToolHandler("tools.b.write")
	require.True(t, ok)
	_, err := handler(t.Context(), json.RawMessage(`{}`))
	assert.Equal(t, tools.KindDenied, spoke.KindOf(err))

	require.NoError(t, r.Lower(tools.PolicyRead).Register(named("tools.c.read", "read")))
	_, ok = r.Find(t.Context(), "tools.c.read")
	assert.True(t, ok, "views share the tools")
}

func TestACeilingCanDependOnTheCaller(t *testing.T) {
	r := tools.NewRegistry(tools.Config{Guard: tools.ReadWrite(), Ceiling: func(ctx context.Context) tools.Policy {
		caller, ok := spoke.CallerFromContext(ctx)
		switch {
		case !ok:
			return "" // nobody we know
		case caller.PeerID == "trusted":
			return tools.PolicyCritical
		}
		return tools.PolicyRead
	}})
	require.NoError(t, r.Register(named("tools.a.read", "read"), named("tools.a.write", "write"), named("tools.a.critical", "critical")))
	for peer, want := range map[string][]string{
		"":        {},
		"trusted": {"tools.a.read", "tools.a.write"},
		"guest":   {"tools.a.read"},
	} {
		ctx := t.Context()
		if peer != "" {
			ctx = spoke.WithCaller(ctx, spoke.Caller{PeerID: peer})
		}
		assert.Equal(t, want, idsOf(r.List(ctx)), peer)
		for _, id := range []string{"tools.a.read", "tools.a.write", "tools.a.critical"} {
			_, err := r.InvokeTool(ctx, id, nil)
			assert.Equal(t, slices.Contains(want, id), err == nil, "%s %s", peer, id)
		}
	}
}

func TestPoliciesAreOrderedAndUnknownOnesPermitNothing(t *testing.T) {
	order := []tools.Policy{tools.PolicyRead, tools.PolicyWrite, tools.PolicyCritical}
	for i, bound := range order {
		parsed, err := tools.ParsePolicy(string(bound))
		require.NoError(t, err)
		assert.Equal(t, bound, parsed)
		for j, p := range order {
			assert.Equal(t, j <= i, bound.Permits(p), "%s %s", bound, p)
		}
	}
	for _, unknown := range []tools.Policy{"", "READ", "read ", "admin"} {
		_, err := tools.ParsePolicy(string(unknown))
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
		assert.False(t, unknown.Permits(tools.PolicyRead))
		assert.False(t, tools.PolicyCritical.Permits(unknown))
	}
}

func TestDescribeCannotDisagreeWithTheRegistry(t *testing.T) {
	r := one(t, tools.ReadWrite(), named("tools.a.x", "read"), named("tools.b.y", "write"), named("tools.a.z", "critical"))
	base := spoke.HostCapabilityManifest{
		SchemaVersion: 1, HostID: "h", Roles: []string{"r"},
		Capabilities: []string{"spoke-baseline", "tools.peer.call", "tools.a.x"},
		Namespaces:   []string{"mine"},
		Tools:        []spoke.ToolDescriptor{{CapabilityID: "tools.old.tool"}},
	}
	m := r.Describe(base)
	assert.Equal(t, []string{"spoke-baseline", "tools.peer.call", "tools.a.x", "tools.b.y"}, m.Capabilities)
	assert.Equal(t, []string{"mine", "a", "b"}, m.Namespaces)
	require.Len(t, m.Tools, 2)
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Empty(t, manifest.Validate(raw))

	assert.Equal(t, []string{"spoke-baseline", "tools.peer.call", "tools.a.x"}, base.Capabilities, "base does not change")
	assert.Equal(t, []string{"mine"}, base.Namespaces)
	assert.Equal(t, "tools.old.tool", base.Tools[0].CapabilityID)
	assert.Empty(t, tools.NewRegistry(tools.Config{}).Describe(base).Tools)
	assert.Len(t, r.Lower(tools.PolicyRead).Describe(base).Tools, 1)
}

func TestMetadataIsKeptAndCompleted(t *testing.T) {
	given := tools.Metadata{Keywords: []string{"k"}, Prerequisites: []string{"tools.a.first"}, Idempotent: true}
	tool := tools.New("tools.ns.x", "d", func(context.Context, struct{}) (any, error) { return nil, nil }).With(given)
	given.Keywords[0] = "changed"
	m := tool.Metadata()
	assert.Equal(t, tools.PolicyCritical, m.Policy, "a tool that says nothing is critical")
	assert.Equal(t, "tools.ns.x", m.Name)
	assert.Equal(t, "ns", m.Category)
	assert.Equal(t, []string{"k"}, m.Keywords)
	assert.Equal(t, []string{"tools.a.first"}, m.Prerequisites)
	assert.True(t, *tool.Descriptor().Idempotent)
	m.Keywords[0] = "changed"
	assert.Equal(t, []string{"k"}, tool.Metadata().Keywords)
	assert.Nil(t, tool.With(tools.Metadata{}).Descriptor().Idempotent)

	raw := tools.Raw(spoke.ToolDescriptor{CapabilityID: "tools.ns.x", Description: "d", Idempotent: new(true)}, noop)
	assert.True(t, raw.Metadata().Idempotent, "a descriptor's word counts")
	assert.Equal(t, spoke.SchemaVersion, raw.Descriptor().SchemaVersion)
	assert.Equal(t, "tools.ns.x", raw.Descriptor().Op)
}

func TestGenerationsTellWhetherAToolIsStillTheSame(t *testing.T) {
	r := one(t, tools.FullAccess(), named("tools.a.x", "read"), named("tools.a.y", "read"))
	before := r.List(t.Context())
	require.NoError(t, r.Replace(named("tools.a.x", "read")))
	after := r.List(t.Context())
	assert.NotEqual(t, before[0].Generation, after[0].Generation)
	assert.Equal(t, before[1].Generation, after[1].Generation)
	seen := map[uint64]bool{}
	for range 5 {
		r.Remove("tools.a.x")
		require.NoError(t, r.Register(named("tools.a.x", "read")))
		e, _ := r.Find(t.Context(), "tools.a.x")
		assert.False(t, seen[e.Generation], "a generation never comes back")
		seen[e.Generation] = true
		assert.GreaterOrEqual(t, r.Generation(), e.Generation)
	}
}

func TestAnEntryIsRunAsItWasFound(t *testing.T) {
	r := one(t, tools.ReadOnly(), named("tools.a.x", tools.PolicyRead))
	found, _ := r.Lookup("tools.a.x")
	require.NoError(t, r.Replace(tools.New("tools.a.x", "d", func(context.Context, struct{}) (string, error) { return "another", nil }).
		With(tools.Metadata{Policy: tools.PolicyRead})))
	for range 2 {
		got, err := r.InvokeEntry(t.Context(), found, nil)
		require.NoError(t, err)
		assert.Equal(t, `"tools.a.x"`, string(got))
		r.Remove("tools.a.x")
	}
	_, err := r.InvokeEntry(t.Context(), found, 1)
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	r.SetGuard(tools.Disabled())
	_, err = r.InvokeEntry(t.Context(), found, nil)
	assert.Equal(t, tools.KindDenied, rejectOf(t, err).Kind())
	for _, e := range []tools.Entry{{}, {Tool: named("tools.A.x", tools.PolicyRead)}} {
		_, err = r.InvokeEntry(t.Context(), e, nil)
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	}
}

func TestARegistryCanChangeWhileItIsUsed(t *testing.T) {
	r := one(t, tools.FullAccess(), named("tools.a.stays", "read"))
	var all sync.WaitGroup
	for i := range 4 {
		id := fmt.Sprintf("tools.a.t%d", i)
		all.Go(func() {
			for range 50 {
				assert.NoError(t, r.Register(named(id, "read")))
				assert.NoError(t, r.Replace(named(id, "write")))
				assert.True(t, r.Remove(id))
				r.SetGuard(tools.FullAccess())
			}
		})
		all.Go(func() {
			for range 50 {
				assert.Contains(t, idsOf(r.List(t.Context())), "tools.a.stays")
				r.Describe(spoke.HostCapabilityManifest{})
				_, err := r.InvokeTool(t.Context(), "tools.a.stays", nil)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, []string{"tools.a.stays"}, idsOf(r.List(t.Context())))
}
