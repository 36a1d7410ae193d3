package connect

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCoreCapabilityVectors(t *testing.T) {
	v := vectorsOf[struct {
		Cases []struct {
			Op       string  `json:"op"`
			Required *string `json:"required"`
		} `json:"cases"`
	}](t, "dispatch.json")
	require.NotEmpty(t, v.Cases)
	for _, c := range v.Cases {
		t.Run("op "+c.Op, func(t *testing.T) {
			capability, ok := CoreCapability(c.Op)
			require.Equal(t, c.Required != nil, ok)
			if ok {
				assert.Equal(t, *c.Required, capability)
			} else {
				assert.Empty(t, capability)
			}
		})
	}
}

func TestCoreCapabilityIsExact(t *testing.T) {
	for _, op := range []string{"Upsert", " upsert", "upsert ", "upsert.x", "tools", "Tools.x", "xtools.a", "port.tools.a"} {
		_, ok := CoreCapability(op)
		assert.False(t, ok, "%q", op)
	}
	capability, ok := CoreCapability("tools.")
	assert.True(t, ok, "whether an id keeps the tool grammar is judged elsewhere")
	assert.Equal(t, "tools.", capability)
}

func TestWhichOpsCanBeRegistered(t *testing.T) {
	handle := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	for name, c := range map[string]struct {
		op Op
		ok bool
	}{
		"an op with a capability and a handler":       {Op{"test.op", "test.ops", handle}, true},
		"a core op leaves its capability to the spec": {Op{"upsert", "", handle}, true},
		"a core op may repeat its capability":         {Op{"compute", CapabilityComputable, handle}, true},
		"a core op cannot have another capability":    {Op{"compute", CapabilityBaseline, handle}, false},
		"an op without a capability":                  {Op{"test.op", "", handle}, false},
		"an op without a handler":                     {Op{"test.op", "test.ops", nil}, false},
		"an op without a name":                        {Op{"", "test.ops", handle}, false},
		"a name of 256 characters":                    {Op{strings.Repeat("x", 256), "test.ops", handle}, true},
		"a name of 257 characters":                    {Op{strings.Repeat("x", 257), "test.ops", handle}, false},
		"a name of 128 surrogate pairs":               {Op{strings.Repeat("😀", 128), "test.ops", handle}, true},
		"a name of 129 surrogate pairs":               {Op{strings.Repeat("😀", 129), "test.ops", handle}, false},
		"a name that is not UTF-8":                    {Op{"test\xff", "test.ops", handle}, false},
		"a tool":                                      {Op{"tools.test.echo", "tools.test.echo", handle}, false},
		"a port":                                      {Op{"port.knowledge.get", "test.ops", handle}, false},
		"a name that only resembles a tool's":         {Op{"toolset.x", "test.ops", handle}, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.op.check()
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
		})
	}
}

func TestAnOpCannotBeRegisteredTwice(t *testing.T) {
	handle := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	ep := &endpoint{Config: Config{Ops: []Op{{"a", "c", handle}, {"b", "c", handle}}}}
	require.NoError(t, ep.checkOps())
	assert.Len(t, ep.ops, 2)
	ep.Ops = append(ep.Ops, Op{"a", "d", handle})
	require.ErrorContains(t, ep.checkOps(), `"a" is registered twice`)
}

func TestTheCapabilityThatAnOpRequires(t *testing.T) {
	assert.Equal(t, CapabilityBaseline, Op{Name: "upsert"}.required())
	assert.Equal(t, CapabilityComputable, Op{Name: "project", Capability: CapabilityComputable}.required())
	assert.Equal(t, "test.ops", Op{Name: "test.op", Capability: "test.ops"}.required())
}
