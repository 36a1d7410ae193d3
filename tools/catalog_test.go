package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// offer is a manifest with tools tools.peer.t0, t1, … of the given inputs.
func offer(inputs ...string) spoke.HostCapabilityManifest {
	m := spoke.HostCapabilityManifest{Namespaces: []string{"peer"}}
	for i, input := range inputs {
		id := fmt.Sprintf("tools.peer.t%d", i)
		m.Capabilities = append(m.Capabilities, id)
		m.Tools = append(m.Tools, spoke.ToolDescriptor{CapabilityID: id, Op: id, Description: "d", Input: json.RawMessage(input)})
	}
	return m
}

const t0, t1 = "tools.peer.t0", "tools.peer.t1"

const needsText = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`

func TestACatalogListsAndFindsWhatKeepsTheRule(t *testing.T) {
	m := offer(needsText, `{}`, `{}`)
	m.Tools[1].Op = "tools.peer.other"
	c := tools.Discover(m, nil)
	require.Len(t, c.List(), 2)
	assert.Equal(t, t0, c.List()[0].CapabilityID)
	c.List()[0].Description = "changed"
	d, ok := c.Find(t0)
	assert.True(t, ok)
	assert.Equal(t, "d", d.Description)
	d, ok = c.Find("tools.peer.t2")
	assert.True(t, ok)
	assert.Equal(t, "tools.peer.t2", d.CapabilityID)
	_, ok = c.Find(t1)
	assert.False(t, ok, "its op is another")
	assert.Empty(t, tools.Discover(spoke.HostCapabilityManifest{}, nil).List())
}

func TestACheckedInvokerSendsOnlyWhatFits(t *testing.T) {
	var calls []string
	c := tools.Discover(offer(needsText, needsText), tools.NewSchemaCache(1))
	checked, err := c.Checked(answering(&calls), t0)
	require.NoError(t, err)
	for _, args := range []any{nil, json.RawMessage(`{"a":1}`), map[string]any{}, json.RawMessage(`[]`), json.RawMessage(`{"a":"x","n":9007199254740993}`)} {
		_, err := checked.InvokeTool(t.Context(), t0, args)
		reject := rejectOf(t, err)
		assert.Equal(t, spoke.CodeInvalidInput, reject.Code)
		assert.Equal(t, "arguments", reject.Details["field"])
	}
	assert.Empty(t, calls, "nothing was sent")
	_, err = checked.InvokeTool(t.Context(), t0, map[string]string{"a": "x"})
	assert.NoError(t, err)
	_, err = checked.InvokeTool(t.Context(), t1, nil)
	assert.NoError(t, err, "other tools are handed on unchecked")
	_, err = checked.InvokeTool(t.Context(), "tools.Bad.x", nil)
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	assert.Equal(t, []string{t0, t1}, calls)
}

// Bytes are checked, not a Go value that could encode otherwise the next time.
func TestWhatWasCheckedIsWhatIsSent(t *testing.T) {
	var sent any
	checked, err := tools.Discover(offer(needsText), nil).Checked(invoker(func(_ context.Context, _ string, args any) (json.RawMessage, error) {
		sent = args
		return nil, nil
	}), t0)
	require.NoError(t, err)
	_, err = checked.InvokeTool(t.Context(), t0, map[string]any{"z": 1.0, "a": "x"})
	require.NoError(t, err)
	assert.Equal(t, json.RawMessage(`{"a":"x","z":1}`), sent)
}

func TestHostileSchemasAreRefusedBeforeAnythingIsSent(t *testing.T) {
	doubling := `{"definitions":{"d0":{}`
	for i := range 20 {
		doubling += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]}`, i+1, i, i)
	}
	doubling += `},"$ref":"#/definitions/d20"}`
	for name, input := range map[string]string{
		"a cycle":             `{"$ref":"#"}`,
		"a doubling":          doubling,
		"a reference outward": `{"$ref":"https://example.org/x"}`,
		"an id":               `{"$id":"file:///etc/passwd"}`,
		"too deep":            strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100),
	} {
		t.Run(name, func(t *testing.T) {
			c := tools.Discover(offer(input), nil)
			require.Len(t, c.List(), 1, "it is listed all the same")
			for range 2 { // the second time it comes from the cache
				_, err := c.Checked(answering(new([]string)), t0)
				var refused *manifest.SchemaError
				require.ErrorAs(t, err, &refused)
				assert.ErrorContains(t, err, t0)
			}
		})
	}
	_, err := tools.Discover(offer(), nil).Checked(answering(new([]string)), t0)
	requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"kind": tools.KindNotFound, "capability_id": t0})
}

// wide is a schema of n members, whose compilation allocates far more than n times.
func wide(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"m%d":{"type":"string","minLength":1}`, i)
	}
	return `{"type":"object","properties":{` + strings.Join(members, ",") + `}}`
}

func TestEqualSchemasAreCompiledOnceAndTheCacheIsBounded(t *testing.T) {
	compile := func(cache *tools.SchemaCache, input string) float64 {
		c := tools.Discover(offer(input), cache)
		return testing.AllocsPerRun(1, func() {
			_, err := c.Checked(answering(new([]string)), t0)
			require.NoError(t, err)
		})
	}
	cold := testing.AllocsPerRun(1, func() { compile(tools.NewSchemaCache(0), wide(300)) })
	cache := tools.NewSchemaCache(2)
	compile(cache, wide(300))
	warm := compile(cache, wide(300)) // another catalog, equal text
	assert.Less(t, warm, cold/10)
	compile(cache, `{"minProperties":1}`)
	compile(cache, wide(300)) // used again, so the next one pushes out the other
	compile(cache, `{"minProperties":2}`)
	assert.Less(t, compileOnce(t, cache, wide(300)), cold/10)
	// Two others push it out.
	compile(cache, `{"minProperties":3}`)
	compile(cache, `{"minProperties":4}`)
	assert.Greater(t, compileOnce(t, cache, wide(300)), warm*10, "it was forgotten")
}

// compileOnce returns what one request for the schema's validator allocates.
func compileOnce(t *testing.T, cache *tools.SchemaCache, input string) float64 {
	t.Helper()
	c := tools.Discover(offer(input), cache)
	return allocations(func() {
		_, err := c.Checked(answering(new([]string)), t0)
		require.NoError(t, err)
	})
}

// allocations counts those of one run; [testing.AllocsPerRun] warms up first.
func allocations(f func()) float64 {
	first := true
	return testing.AllocsPerRun(1, func() {
		if first {
			first = false
			return
		}
		f()
	})
}

func TestACacheServesManySessionsAtOnce(t *testing.T) {
	cache := tools.NewSchemaCache(3)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				input := fmt.Sprintf(`{"type":"object","minProperties":%d}`, (i+j)%5)
				checked, err := tools.Discover(offer(input), cache).Checked(answering(new([]string)), t0)
				if assert.NoError(t, err) {
					_, err = checked.InvokeTool(t.Context(), t0, nil)
					assert.Equal(t, (i+j)%5 == 0, err == nil, "every caller gets its own schema")
				}
			}
		})
	}
	all.Wait()
}
