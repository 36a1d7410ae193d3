package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodeReadsAManifestWithoutLoss(t *testing.T) {
	raw := dice(t, func(m, tool map[string]any) {
		m["authority"] = map[string]any{"scope_key": "k"}
		m["extensions"] = map[string]any{"toy": map[string]any{"a": []any{1.5, nil}}}
		tool["idempotent"] = false
	})
	m, problems, err := manifest.Decode(raw)
	require.NoError(t, err)
	assert.Nil(t, problems)
	again, err := json.Marshal(m)
	require.NoError(t, err)
	assert.JSONEq(t, string(raw), string(again))
}

func TestDecodeSharesNoMemoryWithItsInput(t *testing.T) {
	raw := dice(t, func(m, _ map[string]any) { m["x"] = "unknown" })
	m, _, err := manifest.Decode(raw)
	require.NoError(t, err)
	before, err := json.Marshal(m)
	require.NoError(t, err)
	clear(raw)
	after, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

func TestDecodeTakesWhatIsUsable(t *testing.T) {
	type object = map[string]any
	id := []string{"tools.toy.roll"}
	cases := []struct {
		name  string
		edit  func(m, tool object)
		path  string // of the first problem
		check func(t *testing.T, m spoke.HostCapabilityManifest)
	}{
		{"a member of the wrong type counts as absent", func(m, _ object) {
			m["host_id"], m["schema_version"], m["authority"], m["extensions"], m["roles"] = 5, "1", "k", []any{}, "x"
		}, "/authority", func(t *testing.T, m spoke.HostCapabilityManifest) {
			assert.Zero(t, m.HostID)
			assert.Zero(t, m.SchemaVersion)
			assert.Nil(t, m.Authority)
			assert.Nil(t, m.Extensions)
			assert.Nil(t, m.Roles)
			assert.Len(t, m.Tools, 1)
			assert.Nil(t, m.Unknown)
		}},
		{"an authority with a wrong scope counts as absent", func(m, _ object) { m["authority"] = object{"scope_key": 1} },
			"/authority/scope_key", func(t *testing.T, m spoke.HostCapabilityManifest) { assert.Nil(t, m.Authority) }},
		{"capabilities that are no array negotiate nothing", func(m, _ object) { m["capabilities"] = "spoke-baseline" },
			"/capabilities", func(t *testing.T, m spoke.HostCapabilityManifest) {
				assert.Nil(t, m.Capabilities)
				assert.Nil(t, m.Tools)
			}},
		{"strings are kept among other items", func(m, _ object) { m["capabilities"] = []any{nil, "tools.toy.roll", 5, []any{"spoke-baseline"}} },
			"/capabilities/0", func(t *testing.T, m spoke.HostCapabilityManifest) {
				assert.Equal(t, id, m.Capabilities)
				assert.Len(t, m.Tools, 1)
			}},
		{"unknown members are kept", func(m, tool object) { m["x"], tool["y"] = object{"a": 1}, "z" },
			"", func(t *testing.T, m spoke.HostCapabilityManifest) {
				assert.JSONEq(t, `{"a":1}`, string(m.Unknown["x"]))
				assert.JSONEq(t, `"z"`, string(m.Tools[0].Unknown["y"]))
			}},
		{"a tool with a wrong description stays", func(_, tool object) { tool["description"], tool["schema_version"], tool["idempotent"] = 1, nil, "yes" },
			"/tools/0/description", func(t *testing.T, m spoke.HostCapabilityManifest) {
				assert.Len(t, m.Tools, 1)
				assert.Zero(t, m.Tools[0].Description)
				assert.Nil(t, m.Tools[0].Idempotent)
			}},
		{"a tool that breaks the rules is left out", func(m, tool object) { m["tools"] = []any{5, object{"capability_id": "tools.toy.roll"}, tool, tool} },
			"/tools/0", func(t *testing.T, m spoke.HostCapabilityManifest) { assert.Len(t, m.Tools, 1) }},
		{"a tool without schemas is left out", func(_, tool object) { delete(tool, "input") },
			"/tools/0", func(t *testing.T, m spoke.HostCapabilityManifest) { assert.Nil(t, m.Tools) }},
		{"a tool with an unsupported schema stays", func(_, tool object) { tool["input"] = object{"$ref": "#"} },
			"/tools/0/input/$ref", func(t *testing.T, m spoke.HostCapabilityManifest) {
				require.Len(t, m.Tools, 1)
				_, err := manifest.CompileTool(m.Tools[0], manifest.Peer)
				assert.Error(t, err)
			}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, problems, err := manifest.Decode(dice(t, c.edit))
			require.NoError(t, err)
			require.NotEmpty(t, problems)
			assert.Equal(t, c.path, problems[0].Path)
			c.check(t, m)
		})
	}
}

func TestDecodeOfAnEmptyObjectIsEmpty(t *testing.T) {
	m, problems, err := manifest.Decode(json.RawMessage(`{}`))
	require.NoError(t, err)
	assert.Equal(t, spoke.HostCapabilityManifest{}, m)
	assert.NotEmpty(t, problems)
}

func TestDecodeNeedsAnObject(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `"{}"`, `{"a":1,"a":2}`, `{} {}`, `{"n":1e400}`} {
		_, _, err := manifest.Decode(json.RawMessage(raw))
		outcome{Code: spoke.CodeInvalidInput, Details: map[string]any{"field": "host"}}.check(t, err)
	}
}

// hostileManifests are manifests of about the given size that aim at one cost each.
func hostileManifests(size int) map[string]string {
	fill := func(before, item, after string) string {
		n := max(1, (size-len(before)-len(after))/(len(item)+1))
		return before + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + after
	}
	tool := func(input string) string {
		return `{"schema_version":1,"capability_id":"tools.a.b","op":"tools.a.b","description":"d","input":` + input + `,"output":{}}`
	}
	head := `{"schema_version":1,"host_id":"h","roles":["r"],"extensions":{},"namespaces":["a"],"capabilities":["tools.a.b"],"tools":`
	schema := func(unit string, n int) string {
		return `{"allOf":[` + strings.TrimSuffix(strings.Repeat(unit+",", n), ",") + `]}`
	}
	return map[string]string{
		"capabilities that are numbers":  fill(`{"capabilities":[`, `1`, `]}`),
		"capabilities that repeat":       fill(`{"capabilities":[`, `"a"`, `]}`),
		"namespaces that break the rule": fill(`{"namespaces":[`, `"A"`, `]}`),
		"deep extensions":                `{"extensions":{"a":{"b":` + strings.Repeat("[", min(size/2, 9000)) + strings.Repeat("]", min(size/2, 9000)) + `}}}`,
		"deep capabilities":              `{"capabilities":[` + strings.Repeat("[", min(size/2, 9000)) + strings.Repeat("]", min(size/2, 9000)) + `]}`,
		"a long name":                    `{"` + strings.Repeat("x", size) + `":1}`,
		"a long tool id":                 head + `[` + tool(`{}`) + `,{"capability_id":"` + strings.Repeat("x", size) + `"}]}`,
		"tools that are numbers":         fill(head+`[`, `0`, `]}`),
		"tools with the same id":         fill(head+`[`, tool(`{}`), `]}`),
		"schemas that double":            fill(head+`[`, tool(`{"allOf":[{"$ref":"#/definitions/a"},{"$ref":"#/definitions/a"}],"definitions":{"a":{"allOf":[{"$ref":"#/definitions/b"},{"$ref":"#/definitions/b"}]},"b":{"type":"null"}}}`), `]}`),
		"schemas with class patterns":    fill(head+`[`, tool(schema(`{"pattern":"\\pL\\pN\\pS"}`, 5)), `]}`),
		"schemas with one long pattern":  fill(head+`[`, tool(`{"pattern":"`+strings.Repeat(`\\pL`, 340)+`"}`), `]}`),
		"schemas with folded patterns":   fill(head+`[`, tool(`{"pattern":"`+strings.Repeat(`(?i)\\pL`, 140)+`"}`), `]}`),
		"schemas of 64 KiB":              fill(head+`[`, tool(schema(`{"minimum":1}`, 4000)), `]}`),
		"schemas with long places":       fill(head+`[`, tool(`{"properties":{"`+strings.Repeat("x", 30000)+`":`+schema(`{"minimum":1}`, 2000)+`}}`), `]}`),
		"schemas with large enums":       fill(head+`[`, tool(`{"enum":[`+numbers(4096)+`]}`), `]}`),
		"references to a long chain":     fill(head+`[`, tool(chain(500)), `]}`),
		"an array of nothing but commas": strings.Repeat(",", size),
		"objects that never close":       strings.Repeat(`{"a":`, size/5),
		"one number of a million digits": `{"schema_version":` + strings.Repeat("9", size) + `}`,
		"a name that repeats":            fill(`{"a":{`, `"x":1`, `}}`),
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// chain returns a schema of n definitions, each a $ref to the next.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/definitions/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

// Before the session is established a peer may send twice this much.
// The bound on time is generous: what it catches is quadratic.
func TestDecodeOfHostileInputIsCheap(t *testing.T) {
	for name, raw := range hostileManifests(128 << 10) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			m, problems, err := manifest.Decode(json.RawMessage(raw))
			took := time.Since(start)
			t.Logf("%v, %d problems, error %v", took, len(problems), err != nil)
			assert.Less(t, took, time.Minute)
			assert.LessOrEqual(t, len(problems), 64)
			assert.LessOrEqual(t, len(m.Tools), 1)
		})
	}
}

func FuzzDecode(f *testing.F) {
	seeds := 0
	for _, c := range load[toolsCase](f, "manifest_tools.json") {
		f.Add([]byte(c.Manifest))
		seeds++
	}
	for _, raw := range hostileManifests(1 << 10) {
		f.Add([]byte(raw))
		seeds++
	}
	require.NotZero(f, seeds)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		m, problems, err := manifest.Decode(raw)
		require.Equal(t, before, raw)
		if err != nil {
			rejectOf(t, err)
			require.NotEmpty(t, manifest.Validate(raw))
			return
		}
		require.Equal(t, problems, manifest.Validate(raw), "problems do not depend on map order")
		require.Equal(t, m.Tools, manifest.ListTools(&m))
		if len(problems) == 0 {
			require.NoError(t, manifest.ValidateTools(raw))
		}
		again, err := json.Marshal(m)
		require.NoError(t, err)
		twice, _, err := manifest.Decode(again)
		require.NoError(t, err)
		require.Equal(t, m.Tools, twice.Tools)
		require.Equal(t, m.Capabilities, nilIfEmpty(twice.Capabilities, m.Capabilities))
	})
}

// nilIfEmpty undoes that a nil list travels as [].
func nilIfEmpty(list, want []string) []string {
	if len(list) == 0 && want == nil {
		return nil
	}
	return list
}
