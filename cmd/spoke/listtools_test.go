package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/spoke"
)

func TestAToolsArgumentsAreNamedWhateverElseTheSchemaSays(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{}},"required":["a"]}`: "a* string, b integer|null, c",
		`{"properties":{"a":{"type":"string"},"b":true,"c":false,"d":7},"required":["b"]}`:               "a string, b*, c, d",
		`{"properties":{"a":{"type":"string"}},"required":"a"}`:                                          "a string",
		`{"properties":{"\u001b[2J":{"type":"\u009b2J"}}}`:                                               "[2J 2J",
		`{"properties":[]}`: "-",
		`{}`:                "-",
		`true`:              "-",
	} {
		assert.Equal(t, want, argumentsOf(spoke.ToolDescriptor{Input: json.RawMessage(input)}), input)
	}
}
