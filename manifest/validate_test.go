package manifest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/shared"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidateNamesThePlace(t *testing.T) {
	type object = map[string]any
	cases := []struct {
		name    string
		edit    func(m, tool object)
		path    string // "-" for no problem
		message string
	}{
		{"nothing wrong", nil, "-", ""},
		{"no tools member", func(m, _ object) { delete(m, "tools") }, "-", ""},
		{"an authority", func(m, _ object) { m["authority"] = object{"scope_key": "k"} }, "-", ""},
		{"idempotent", func(_, tool object) { tool["idempotent"] = true }, "-", ""},
		{"an unknown member", func(m, _ object) { m["extra"] = 1 }, "", "extra"},
		{"no host id", func(m, _ object) { delete(m, "host_id") }, "", "host_id is required"},
		{"no extensions", func(m, _ object) { delete(m, "extensions") }, "", "extensions is required"},
		{"an empty host id", func(m, _ object) { m["host_id"] = "" }, "/host_id", "length"},
		{"version 0", func(m, _ object) { m["schema_version"] = 0 }, "/schema_version", "1"},
		{"a fractional version", func(m, _ object) { m["schema_version"] = 1.5 }, "/schema_version", "integer"},
		{"no roles", func(m, _ object) { m["roles"] = []any{} }, "/roles", "at least 1"},
		{"a role twice", func(m, _ object) { m["roles"] = []any{"a", "a"} }, "/roles", "unique"},
		{"a role that is a number", func(m, _ object) { m["roles"] = []any{"a", 1} }, "/roles/1", "string"},
		{"a capability that is a number", func(m, _ object) { m["capabilities"] = []any{"tools.toy.roll", 1} }, "/capabilities/1", "string"},
		{"a namespace in capitals", func(m, _ object) { m["namespaces"] = []any{"toy", "Toy"} }, "/namespaces/1", "pattern"},
		{"an authority without scope", func(m, _ object) { m["authority"] = object{} }, "/authority", "scope_key"},
		{"an authority with more", func(m, _ object) { m["authority"] = object{"scope_key": "k", "x": 1} }, "/authority", "x"},
		{"an extension that is no object", func(m, _ object) { m["extensions"] = object{"a": 1} }, "/extensions/a", "object"},
		{"an extension of a bad name", func(m, _ object) { m["extensions"] = object{"A": object{}} }, "/extensions", "pattern"},
		{"tools that are an object", func(m, _ object) { m["tools"] = object{} }, "/tools", "array"},
		{"a tool that is a number", func(m, _ object) { m["tools"] = []any{5} }, "/tools/0", "object"},
		{"an unknown member of a tool", func(_, tool object) { tool["x"] = 1 }, "/tools/0", "x"},
		{"a tool without description", func(_, tool object) { delete(tool, "description") }, "/tools/0", "description is required"},
		{"an empty description", func(_, tool object) { tool["description"] = "" }, "/tools/0/description", "length"},
		{"a tool id of a bad grammar", func(_, tool object) { tool["op"], tool["capability_id"] = "tools.toy.roll", "tools.toy.Roll" }, "/tools/0/capability_id", "pattern"},
		{"an op that differs", func(_, tool object) { tool["op"] = "tools.toy.other" }, "/tools/0/op", "equal"},
		{"a tool outside capabilities", func(m, _ object) { m["capabilities"] = []any{"spoke-baseline"} }, "/tools/0/capability_id", "capabilities"},
		{"a tool outside namespaces", func(m, _ object) { m["namespaces"] = []any{"other"} }, "/tools/0/capability_id", "namespaces"},
		{"a tool twice", func(m, tool object) { m["tools"] = []any{tool, tool} }, "/tools/1/capability_id", "earlier"},
		{"an input that is null", func(_, tool object) { tool["input"] = nil }, "/tools/0/input", "object"},
		{"an output that is a boolean", func(_, tool object) { tool["output"] = true }, "/tools/0/output", "object"},
		{"an idempotent that is null", func(_, tool object) { tool["idempotent"] = nil }, "/tools/0/idempotent", "boolean"},
		{"an input with a bad pattern", func(_, tool object) { tool["input"] = object{"properties": object{"a": object{"pattern": "("}}} }, "/tools/0/input/properties/a/pattern", "unsupported schema"},
		{"an output with a cycle", func(_, tool object) { tool["output"] = object{"items": object{"$ref": "#"}} }, "/tools/0/output/items/$ref", "cycle"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			problems := manifest.Validate(dice(t, c.edit))
			if c.path == "-" {
				assert.Nil(t, problems)
				return
			}
			require.NotEmpty(t, problems)
			assert.Contains(t, problems[0].Message, c.message)
			for _, p := range problems {
				assert.Equal(t, c.path, p.Path)
			}
		})
	}
}

func TestValidateReportsEveryTool(t *testing.T) {
	problems := manifest.Validate(dice(t, func(m, tool map[string]any) {
		m["capabilities"] = []any{"x"}
		m["tools"] = []any{tool, 5, tool}
	}))
	assert.Equal(t, []string{"/tools/0/capability_id", "/tools/1", "/tools/2/capability_id"}, pathsOf(problems))
}

func pathsOf(problems []manifest.Problem) []string {
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	return paths
}

func TestValidateReportsEveryRuleThatAToolBreaks(t *testing.T) {
	type object = map[string]any
	for name, c := range map[string]struct {
		edit func(m, tool object)
		want []string
	}{
		"between members": {func(m, tool object) {
			m["capabilities"], m["namespaces"], tool["op"] = []any{"spoke-baseline"}, []any{"other"}, "tools.toy.other"
		}, []string{
			"/tools/0/op: is not equal to capability_id",
			"/tools/0/capability_id: is not listed in capabilities",
			"/tools/0/capability_id: is not of a namespace in namespaces",
		}},
		"of the schema and between members": {func(_, tool object) { tool["color"], tool["op"] = "red", "tools.toy.other" }, []string{
			"/tools/0: Additional property color is not allowed",
			"/tools/0/op: is not equal to capability_id",
		}},
		"twice, and elsewhere": {func(m, tool object) { m["capabilities"], m["tools"] = []any{"x"}, []any{tool, tool} }, []string{
			"/tools/0/capability_id: is not listed in capabilities",
			"/tools/1/capability_id: is not listed in capabilities",
		}},
		"an id that is none is said once": {func(_, tool object) { tool["capability_id"] = "tools.toy" }, []string{
			"/tools/0/capability_id: Does not match pattern '^tools\\.[a-z][a-z0-9_-]*\\.[a-z0-9][a-z0-9_-]*$'",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range manifest.Validate(dice(t, c.edit)) {
				got = append(got, p.String())
			}
			assert.ElementsMatch(t, c.want, got)
		})
	}
}

func TestValidateIsBounded(t *testing.T) {
	raw := dice(t, func(m, _ map[string]any) { m["tools"] = make([]any, 10_000) })
	assert.Len(t, manifest.Validate(raw), 64)
}

func TestValidateRefusesTextThatIsNotStrictJSON(t *testing.T) {
	for _, raw := range []string{``, `{`, `{"a":1,"a":2}`, `{"schema_version":1e400}`, "{\"host_id\":\"\xff\"}", `null`, `[]`} {
		assert.Len(t, manifest.Validate(json.RawMessage(raw)), 1, raw)
		assert.NotEmpty(t, manifest.ValidateDescriptor(json.RawMessage(raw)), raw)
	}
}

func TestValidateDescriptor(t *testing.T) {
	tool := func(edit func(tool map[string]any)) json.RawMessage {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(dice(t, func(_, tool map[string]any) { edit(tool) }), &m))
		return m["tools"][1 : len(m["tools"])-1]
	}
	assert.Nil(t, manifest.ValidateDescriptor(tool(func(map[string]any) {})))
	assert.Equal(t, []string{"/op"}, pathsOf(manifest.ValidateDescriptor(tool(func(m map[string]any) { m["op"] = "tools.toy.other" }))))
	assert.Equal(t, []string{"/op"}, pathsOf(manifest.ValidateDescriptor(tool(func(m map[string]any) { m["op"] = "roll" }))))
	assert.Equal(t, []string{"/input/$id"}, pathsOf(manifest.ValidateDescriptor(tool(func(m map[string]any) { m["input"] = map[string]any{"$id": "x"} }))))
	assert.Equal(t, []string{"/output"}, pathsOf(manifest.ValidateDescriptor(tool(func(m map[string]any) { m["output"] = "x" }))))
}

// The toy world's manifests are data of the protocol, read where they are present.
func TestReferenceManifestsHaveNoProblems(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared.Vectors(t, "reference"), "toy-world", "host_*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Nil(t, manifest.Validate(raw), file)
	}
}

func TestErrNamesTheFirstProblemAndListsTheRest(t *testing.T) {
	assert.NoError(t, manifest.Err(nil))
	var problems []manifest.Problem
	for i := range 20 {
		problems = append(problems, manifest.Problem{Path: fmt.Sprintf("/p%d", i), Message: strings.Repeat("m", 10_000)})
	}
	reject := rejectOf(t, manifest.Err(problems))
	assert.Equal(t, spoke.CodeInvalidInput, reject.Code)
	assert.Contains(t, reject.Message, "/p0: mmm")
	assert.Contains(t, reject.Message, "and 19 more")
	assert.Less(t, len(reject.Message), 400)
	list := reject.Details["errors"].([]any)
	assert.Len(t, list, 16)
	assert.Equal(t, "/p15", list[15].(map[string]any)["path"])
	assert.Less(t, len(list[0].(map[string]any)["message"].(string)), 400)
}

const recursiveTree = `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`

func TestAnOwnSchemaMayRecurseAndAPeersMayNot(t *testing.T) {
	m := json.RawMessage(`{"schema_version":1,"host_id":"h","roles":["r"],"capabilities":["tools.a.b"],"namespaces":["a"],"extensions":{},
		"tools":[{"schema_version":1,"capability_id":"tools.a.b","op":"tools.a.b","description":"d","input":` + recursiveTree + `,"output":{}}]}`)
	assert.Empty(t, manifest.ValidateOwn(m))
	problems := manifest.Validate(m)
	if assert.Len(t, problems, 1) {
		assert.Contains(t, problems[0].Path, "/tools/0/input")
	}
	endless := json.RawMessage(strings.Replace(string(m), recursiveTree, `{"$ref":"#"}`, 1))
	assert.Len(t, manifest.ValidateOwn(endless), 1, "not without consuming a level of the value")
}

func TestAnOwnDescriptorMayRecurseAndAPeersMayNot(t *testing.T) {
	d := json.RawMessage(`{"schema_version":1,"capability_id":"tools.a.b","op":"tools.a.b","description":"d","input":` + recursiveTree + `,"output":{}}`)
	assert.Nil(t, manifest.ValidateOwnDescriptor(d))
	problems := manifest.ValidateDescriptor(d)
	if assert.Len(t, problems, 1) {
		assert.Contains(t, problems[0].Path, "/input")
	}
	endless := json.RawMessage(strings.Replace(string(d), recursiveTree, `{"$ref":"#"}`, 1))
	assert.Len(t, manifest.ValidateOwnDescriptor(endless), 1, "not without consuming a level of the value")
	other := json.RawMessage(strings.Replace(string(d), `"op":"tools.a.b"`, `"op":"tools.a.c"`, 1))
	assert.Equal(t, []string{"/op"}, pathsOf(manifest.ValidateOwnDescriptor(other)))
}
