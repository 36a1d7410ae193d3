package manifest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

type argumentsCase struct {
	Input  json.RawMessage `json:"input"`
	Args   json.RawMessage `json:"args"`
	Result outcome         `json:"result"`
}

func TestToolArgumentsVectors(t *testing.T) {
	for i, c := range load[argumentsCase](t, "tool_arguments.json") {
		t.Run(fmt.Sprintf("case %d", i), func(t *testing.T) {
			c.Result.check(t, manifest.CheckArguments(c.Input, c.Args))
		})
	}
}

func TestCheckArgumentsRefusesTextThatIsNotStrictJSON(t *testing.T) {
	for _, c := range []struct{ input, args, field string }{
		{`{"type":"object","type":"object"}`, `{}`, "input"},
		{`{}`, `{"a":1,"a":2}`, "arguments"},
		{`{}`, ``, "arguments"},
		{`[]`, `[]`, "input"},
	} {
		err := manifest.CheckArguments(json.RawMessage(c.input), json.RawMessage(c.args))
		outcome{Code: spoke.CodeInvalidInput, Details: map[string]any{"field": c.field}}.check(t, err)
	}
}
