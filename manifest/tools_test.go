package manifest_test

import (
	"encoding/json"
	"testing"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/stretchr/testify/assert"
)

type toolsCase struct {
	Name     string          `json:"name"`
	Manifest json.RawMessage `json:"manifest"`
	Result   outcome         `json:"result"`
}

func TestManifestToolsVectors(t *testing.T) {
	for _, c := range load[toolsCase](t, "manifest_tools.json") {
		t.Run(c.Name, func(t *testing.T) { c.Result.check(t, manifest.ValidateTools(c.Manifest)) })
	}
}

func TestValidateToolsBlamesTheFirstFailure(t *testing.T) {
	type object = map[string]any
	tool0 := object{"field": "tools", "index": 0.0}
	named := object{"field": "tools", "index": 0.0, "capability_id": "tools.toy.roll"}
	cases := []struct {
		name    string
		edit    func(m, tool object)
		details object
	}{
		{"capabilities null", func(m, _ object) { m["capabilities"] = nil }, object{"field": "capabilities"}},
		{"capabilities before namespaces", func(m, _ object) { m["capabilities"], m["namespaces"] = 1, 1 }, object{"field": "capabilities"}},
		{"no namespaces although there are no tools", func(m, _ object) { delete(m, "namespaces"); delete(m, "tools") }, object{"field": "namespaces"}},
		{"tools null", func(m, _ object) { m["tools"] = nil }, object{"field": "tools"}},
		{"tools an object", func(m, _ object) { m["tools"] = object{} }, object{"field": "tools"}},
		{"a tool that is a string", func(m, _ object) { m["tools"] = []any{"tools.toy.roll"} }, tool0},
		{"a tool that is null", func(m, _ object) { m["tools"] = []any{nil} }, tool0},
		{"an id that is a number", func(_, tool object) { tool["capability_id"] = 5 }, tool0},
		{"no id", func(_, tool object) { delete(tool, "capability_id") }, tool0},
		{"an id that ends in a newline", func(_, tool object) { tool["capability_id"], tool["op"] = "tools.toy.roll\n", "tools.toy.roll\n" },
			object{"field": "tools", "index": 0.0, "capability_id": "tools.toy.roll\n"}},
		{"no op", func(_, tool object) { delete(tool, "op") }, named},
		{"no input", func(_, tool object) { delete(tool, "input") }, named},
		{"a boolean output", func(_, tool object) { tool["output"] = true }, named},
		{"a malformed descriptor before its missing capability", func(m, tool object) { m["capabilities"], tool["input"] = []any{}, nil }, named},
		{"a missing capability before a foreign namespace", func(m, _ object) { m["capabilities"], m["namespaces"] = []any{5}, []any{nil} }, named},
		{"names compare with case", func(m, _ object) { m["Capabilities"] = m["capabilities"]; delete(m, "capabilities") }, object{"field": "capabilities"}},
		{"items of other types do not matter", func(m, _ object) { m["capabilities"] = []any{1, nil, "tools.toy.roll"} }, nil},
		{"description and version are left to the schema", func(_, tool object) { delete(tool, "description"); delete(tool, "schema_version") }, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := manifest.ValidateTools(dice(t, c.edit))
			outcome{OK: c.details == nil, Code: spoke.CodeInvalidInput, Details: c.details}.check(t, err)
		})
	}
}

func TestValidateToolsNeedsAnObject(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `{"a":1,"a":2}`} {
		reject := rejectOf(t, manifest.ValidateTools(json.RawMessage(raw)))
		assert.Equal(t, map[string]any{"field": "manifest"}, reject.Details, raw)
	}
}

func TestDiscoverySeesOnlyToolsThatKeepTheRules(t *testing.T) {
	tool := func(id, op string) spoke.ToolDescriptor {
		return spoke.ToolDescriptor{CapabilityID: id, Op: op, Description: id + op}
	}
	array := tool("tools.a.array", "tools.a.array")
	array.Input = json.RawMessage(`[]`)
	null := tool("tools.a.null", "tools.a.null")
	null.Output = json.RawMessage(`null`)
	m := &spoke.HostCapabilityManifest{
		Capabilities: []string{"tools.a.z", "tools.a.b", "tools.b.x", "tools.a.array", "tools.a.null", "tools.A.x"},
		Namespaces:   []string{"a", "A"},
		Tools: []spoke.ToolDescriptor{
			tool("tools.a.b", "tools.a.z"), // op differs: does not hide the next one
			tool("tools.a.z", "tools.a.z"), // kept
			tool("tools.A.x", "tools.A.x"), // grammar
			tool("tools.a.b", "tools.a.b"), // kept
			tool("tools.a.c", "tools.a.c"), // not in capabilities
			tool("tools.b.x", "tools.b.x"), // not in namespaces
			{CapabilityID: "tools.a.z", Op: "tools.a.z", Description: "duplicate"},
			array, null,
		},
	}
	kept := []spoke.ToolDescriptor{m.Tools[1], m.Tools[3]}
	assert.Equal(t, kept, manifest.ListTools(m))
	for _, d := range kept {
		found, ok := manifest.FindTool(m, d.CapabilityID)
		assert.True(t, ok)
		assert.Equal(t, d, found)
	}
	for _, id := range []string{"tools.A.x", "tools.a.c", "tools.b.x", "tools.a.array", "tools.a.null", ""} {
		_, ok := manifest.FindTool(m, id)
		assert.False(t, ok, id)
	}
	assert.Nil(t, manifest.ListTools(&spoke.HostCapabilityManifest{}))
}

func TestNegotiateKeepsWhatBothHave(t *testing.T) {
	cases := []struct {
		name                         string
		initiator, responder, shared []string
	}{
		{"in the responder's order", []string{"a", "b", "c"}, []string{"c", "x", "a"}, []string{"c", "a"}},
		{"without repetition", []string{"a", "a"}, []string{"a", "a"}, []string{"a"}},
		{"with case", []string{"a"}, []string{"A"}, nil},
		{"nothing shared", []string{"a"}, []string{"b"}, nil},
		{"nothing on one side", nil, []string{"b"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.shared, manifest.Negotiate(c.initiator, c.responder))
		})
	}
}
