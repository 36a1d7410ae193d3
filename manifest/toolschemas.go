package manifest

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/spoke"
)

// ToolSchemas are the compiled schemas of one tool. They do not change and are safe
// for concurrent use. Get them from [CompileTool].
type ToolSchemas struct {
	input  *Schema
	output *Schema
}

// CompileTool compiles the input and output of a descriptor; nil is {}. The error is a
// [*SchemaError] whose path begins with /input or /output. Compile a peer's tools when
// they are first used: a manifest can hold thousands.
func CompileTool(d spoke.ToolDescriptor, trust Trust) (*ToolSchemas, error) {
	input, err := compileMember("/input", d.Input, trust)
	if err != nil {
		return nil, err
	}
	output, err := compileMember("/output", d.Output, trust)
	if err != nil {
		return nil, err
	}
	return &ToolSchemas{input, output}, nil
}

var emptySchema = json.RawMessage("{}")

func compileMember(path string, schema json.RawMessage, trust Trust) (*Schema, error) {
	if schema == nil {
		schema = emptySchema
	}
	if !isObject(schema) {
		return nil, &SchemaError{Path: path, Reason: "must be an object"}
	}
	return compileAt(path, schema, trust)
}

// ValidateArguments returns nil when args, JSON text, fit the tool's input. Else the
// error is a [*spoke.Reject] of code INVALID_INPUT with details.field "arguments" and,
// unless args are no object, details.errors: up to 16 of {path, message}.
//
// Source: wire spec, section 6.
func (t *ToolSchemas) ValidateArguments(args json.RawMessage) error {
	if !isObject(args) {
		return invalidField("arguments", "arguments must be an object")
	}
	problems := t.input.Validate(args)
	if len(problems) == 0 {
		return nil
	}
	return invalidField("arguments", "arguments do not fit the tool's input: %s", clip(problems[0].String())).
		WithDetail(detailErrors, listed(problems))
}

// ValidateResult returns nil when result, JSON text, fits the tool's output. Else the
// error is a [*spoke.Reject] of code INTERNAL_ERROR and kind "result", with
// details.errors as [ToolSchemas.ValidateArguments] has them.
//
// Source: wire spec, sections 3 and 6.
func (t *ToolSchemas) ValidateResult(result json.RawMessage) error {
	problems := t.output.Validate(result)
	if len(problems) == 0 {
		return nil
	}
	return spoke.Rejectf(spoke.CodeInternalError, "the result does not fit the tool's output: %s", clip(problems[0].String())).
		WithKind(spoke.KindResult).WithDetail(detailErrors, listed(problems))
}
