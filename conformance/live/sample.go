package live

import (
	"encoding/json"
	"slices"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// chooseTool keeps the configured tool, or takes the first that is negotiated. Without
// one, invokes go to an op that nobody serves.
func (s *script) chooseTool(tools []spoke.ToolDescriptor, negotiated []string) {
	for _, tool := range tools {
		if !slices.Contains(negotiated, tool.CapabilityID) {
			continue
		}
		if s.Tool == "" {
			s.Tool = tool.CapabilityID
		}
		if s.Tool == tool.CapabilityID && s.Args == nil {
			s.Args = sampleArguments(tool)
		}
	}
}

// sampleArguments makes arguments that fit a tool's schema, {} when it cannot.
func sampleArguments(tool spoke.ToolDescriptor) json.RawMessage {
	args := json.RawMessage(`{}`)
	var input struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if json.Unmarshal(tool.Input, &input) != nil {
		return args
	}
	sample := make(map[string]any, len(input.Required))
	for _, name := range input.Required {
		sample[name] = input.Properties[name].sample()
	}
	text, err := json.Marshal(sample)
	if err != nil {
		return args
	}
	schemas, err := manifest.CompileTool(tool, manifest.Peer)
	if err != nil || schemas.ValidateArguments(text) != nil {
		return args
	}
	return text
}

// property is the part of a schema that a sample looks at.
type property struct {
	Type    any      `json:"type"`
	Minimum *float64 `json:"minimum"`
	Enum    []any    `json:"enum"`
}

func (p property) sample() any {
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	switch p.Type {
	case "integer", "number":
		if p.Minimum != nil {
			return *p.Minimum
		}
		return 1
	case "string":
		return "conformance"
	case "boolean":
		return true
	case "array":
		return []any{}
	default:
		return map[string]any{}
	}
}
