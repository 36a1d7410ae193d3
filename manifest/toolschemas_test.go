package manifest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func compileTool(t *testing.T, input, output string) *manifest.ToolSchemas {
	t.Helper()
	tool, err := manifest.CompileTool(spoke.ToolDescriptor{Input: json.RawMessage(input), Output: json.RawMessage(output)}, manifest.Peer)
	require.NoError(t, err)
	return tool
}

func TestArgumentsThatFit(t *testing.T) {
	tool := compileTool(t, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{}`)
	assert.NoError(t, tool.ValidateArguments(json.RawMessage(`{"n":1}`)))
	assert.NoError(t, tool.ValidateArguments(json.RawMessage(" {\"n\": 1.0}\n")))
}

func TestArgumentsThatDoNotFitNameThePlaces(t *testing.T) {
	tool := compileTool(t, `{"properties":{"n":{"type":"integer"},"a/b":{"maxLength":1}},"required":["m"]}`, `{}`)
	err := tool.ValidateArguments(json.RawMessage(`{"n":"x","a/b":"long"}`))
	reject := rejectOf(t, err)
	assert.Equal(t, spoke.CodeInvalidInput, reject.Code)
	assert.Equal(t, map[string]any{"field": "arguments", "errors": []any{
		map[string]any{"path": "", "message": "m is required"},
		map[string]any{"path": "/a~1b", "message": "String length must be less than or equal to 1"},
		map[string]any{"path": "/n", "message": "Invalid type. Expected: integer, given: string"},
	}}, reject.Details)
}

func TestArgumentsMustBeAnObjectWhateverTheSchema(t *testing.T) {
	for _, input := range []string{`{}`, `{"type":"array"}`} {
		for _, args := range []string{``, `null`, `[]`, `"{}"`, `5`, `true`} {
			err := compileTool(t, input, `{}`).ValidateArguments(json.RawMessage(args))
			outcome{Code: spoke.CodeInvalidInput, Details: map[string]any{"field": "arguments"}}.check(t, err)
		}
	}
}

func TestArgumentsThatAreNotStrictJSONDoNotFit(t *testing.T) {
	tool := compileTool(t, `{"type":"object"}`, `{}`)
	for _, args := range []string{`{`, `{"a":1,"a":2}`, `{"a":1e400}`} {
		assert.Equal(t, "arguments", rejectOf(t, tool.ValidateArguments(json.RawMessage(args))).Details["field"], args)
	}
}

func TestResultsThatDoNotFitAreOurFault(t *testing.T) {
	tool := compileTool(t, `{}`, `{"type":"object","required":["total"]}`)
	assert.NoError(t, tool.ValidateResult(json.RawMessage(`{"total":3}`)))
	reject := rejectOf(t, tool.ValidateResult(json.RawMessage(`{}`)))
	assert.Equal(t, spoke.CodeInternalError, reject.Code)
	assert.Equal(t, map[string]any{"kind": spoke.KindResult, "errors": []any{
		map[string]any{"path": "", "message": "total is required"},
	}}, reject.Details)
	assert.Equal(t, spoke.KindResult, spoke.KindOf(tool.ValidateResult(json.RawMessage(`null`))))
}

func TestRejectsStaySmallWhateverThePeerSent(t *testing.T) {
	tool := compileTool(t, `{"additionalProperties":{"items":{"enum":["`+strings.Repeat("e", 5000)+`"]}}}`, `{}`)
	args := `{"` + strings.Repeat("x", 5000) + `":[` + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + `]}`
	reject := rejectOf(t, tool.ValidateArguments(json.RawMessage(args)))
	assert.Len(t, reject.Details["errors"], 16)
	text, err := json.Marshal(reject.Envelope())
	require.NoError(t, err)
	assert.Less(t, len(text), 16*600)
}

func TestToolsWithUnsupportedSchemasNameTheMember(t *testing.T) {
	cases := []struct{ name, input, output, path string }{
		{"a cycle in the input", `{"$ref":"#"}`, `{}`, "/input/$ref"},
		{"an $id in the output", `{}`, `{"items":{"$id":"x"}}`, "/output/items/$id"},
		{"an input that is a boolean", `true`, `{}`, "/input"},
		{"an output that is null", `{}`, `null`, "/output"},
		{"an input that is no JSON", `{`, `{}`, "/input"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := manifest.CompileTool(spoke.ToolDescriptor{Input: json.RawMessage(c.input), Output: json.RawMessage(c.output)}, manifest.Own)
			var e *manifest.SchemaError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.path, e.Path)
		})
	}
}

func TestNilSchemasAcceptAnything(t *testing.T) {
	tool, err := manifest.CompileTool(spoke.ToolDescriptor{}, manifest.Peer)
	require.NoError(t, err)
	assert.NoError(t, tool.ValidateArguments(json.RawMessage(`{"a":1}`)))
	assert.NoError(t, tool.ValidateResult(json.RawMessage(`[1]`)))
}

func TestSchemasThatAcceptEverythingCostNothing(t *testing.T) {
	tool := compileTool(t, `{"title":"any"}`, `{}`)
	args := json.RawMessage(`{"a":[` + strings.Repeat("1,", 1000) + `1]}`)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_ = tool.ValidateArguments(args)
		_ = tool.ValidateResult(args)
	}))
}

func TestToolSchemasAreSafeForConcurrentUse(t *testing.T) {
	tool := compileTool(t, `{"properties":{"n":{"type":"integer","minimum":1}}}`, `{"type":"string","format":"uuid"}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				assert.NoError(t, tool.ValidateArguments(fmt.Appendf(nil, `{"n":%d}`, i+1)))
				assert.Error(t, tool.ValidateArguments(fmt.Appendf(nil, `{"n":%d}`, -i)))
				assert.Error(t, tool.ValidateResult(fmt.Appendf(nil, `"%d"`, i)))
			}
		})
	}
	wg.Wait()
}
