package manifest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// order is a tool with schemas as they are usual: nested objects, a list, bounds, a
// pattern and a reference.
func order() spoke.ToolDescriptor {
	const input = `{"type":"object","additionalProperties":false,"required":["customer","lines"],"properties":{
		"customer":{"type":"object","required":["name","email"],"properties":{
			"name":{"type":"string","minLength":1,"maxLength":100},
			"email":{"type":"string","pattern":"^[^@ ]+@[^@ ]+$"},
			"address":{"$ref":"#/definitions/address"}}},
		"lines":{"type":"array","minItems":1,"maxItems":1000,"items":{"type":"object","required":["sku","count"],"properties":{
			"sku":{"type":"string"},"count":{"type":"integer","minimum":1,"maximum":999},
			"gift":{"type":["boolean","null"]}}}},
		"priority":{"enum":["low","normal","high"]}},
		"definitions":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}}}`
	const id = "tools.shop.order"
	return spoke.ToolDescriptor{
		SchemaVersion: 1, CapabilityID: id, Op: id, Description: "Order goods.",
		Input: json.RawMessage(input), Output: json.RawMessage(`{"type":"object","required":["number"],"properties":{"number":{"type":"integer"}}}`),
	}
}

// orderOf returns the arguments of an order with so many lines.
func orderOf(lines int) json.RawMessage {
	line := `{"sku":"A-1000","count":3,"gift":null}`
	return json.RawMessage(`{"customer":{"name":"Ada","email":"ada@example.org","address":{"street":"Quay 1","city":"Port"}},` +
		`"lines":[` + strings.Repeat(line+",", lines-1) + line + `],"priority":"high"}`)
}

// decoding is the floor: the text made into a value, and not looked at.
func decoding(text json.RawMessage) func() error {
	return func() error {
		var v any
		return json.Unmarshal(text, &v)
	}
}

func BenchmarkCompileTool(b *testing.B) {
	d := order()
	for name, trust := range map[string]manifest.Trust{"own": manifest.Own, "peer": manifest.Peer} {
		b.Run("trust="+name, func(b *testing.B) {
			benchtest.Function(b, func() error { _, err := manifest.CompileTool(d, trust); return err }, decoding(d.Input))
		})
	}
}

func BenchmarkValidateArguments(b *testing.B) {
	schemas, err := manifest.CompileTool(order(), manifest.Peer)
	require.NoError(b, err)
	for _, lines := range []int{1, 10, 1000} {
		args := orderOf(lines)
		b.Run(fmt.Sprintf("lines=%d", lines), func(b *testing.B) {
			b.SetBytes(int64(len(args)))
			benchtest.Function(b, func() error { return schemas.ValidateArguments(args) }, decoding(args))
		})
	}
}

func BenchmarkValidateResult(b *testing.B) {
	schemas, err := manifest.CompileTool(order(), manifest.Peer)
	require.NoError(b, err)
	result := json.RawMessage(`{"number":4711}`)
	benchtest.Function(b, func() error { return schemas.ValidateResult(result) }, decoding(result))
}
