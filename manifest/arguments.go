package manifest

import (
	"encoding/json"
	"strings"

	"github.com/spoke-peer/spoke-go/spoke"
)

// CheckArguments is the structural gate before a tool: input and args must be objects,
// and if input is of type "object" with an array required, each string in it must be a
// member of args. Values are not looked at; [ToolSchemas.ValidateArguments] does that.
//
// The error is a [*spoke.Reject] of code INVALID_INPUT: details.field is "input" or
// "arguments", and details.missing lists the absent members in the order of required.
//
// Source: wire spec, section 6.
func CheckArguments(input, args json.RawMessage) error {
	schema, err := parseObject(input, "input")
	if err != nil {
		return err
	}
	given, err := parseObject(args, "arguments")
	if err != nil {
		return err
	}
	if missing := missingArguments(schema, given); len(missing) > 0 {
		return rejectMissing(missing)
	}
	return nil
}

func missingArguments(schema, args members) []string {
	if kind, _ := stringOf(schema["type"]); kind != "object" {
		return nil
	}
	var missing []string
	required, _ := stringsOf(schema["required"])
	for _, name := range required {
		if _, ok := args[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}

func rejectMissing(missing []string) *spoke.Reject {
	list := make([]any, len(missing))
	for i, name := range missing {
		list[i] = name
	}
	return invalidField("arguments", "arguments lack %s", clip(strings.Join(missing, ", "))).
		WithDetail(detailMissing, list)
}
