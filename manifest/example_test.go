package manifest_test

import (
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

func ExampleParseToolID() {
	namespace, tool, err := manifest.ParseToolID("tools.toy_world.roll_dice")
	fmt.Println(namespace, tool, err)
	_, _, err = manifest.ParseToolID("tools.toy_world")
	fmt.Println(err)
	// Output:
	// toy_world roll_dice <nil>
	// INVALID_INPUT: "tools.toy_world" is not a tool id (tools.<namespace>.<tool>)
}

func ExampleValidate() {
	problems := manifest.Validate(json.RawMessage(`{
		"schema_version": 1,
		"host_id": "dice",
		"roles": ["input-source"],
		"capabilities": ["spoke-baseline"],
		"namespaces": ["toy_world"],
		"extensions": {},
		"tools": [{
			"schema_version": 1,
			"capability_id": "tools.toy_world.roll_dice",
			"op": "tools.toy_world.roll_dice",
			"description": "Roll dice.",
			"input": {"properties": {"sides": {"$ref": "https://example.org/sides.json"}}},
			"output": {}
		}]
	}`))
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output:
	// /tools/0/input/properties/sides/$ref: unsupported schema: $ref must point into the same schema (#...), not to "https://example.org/sides.json"
	// /tools/0/capability_id: is not listed in capabilities
}

func ExampleFindTool() {
	m := &spoke.HostCapabilityManifest{
		Capabilities: []string{"tools.toy_world.roll_dice"},
		Namespaces:   []string{"toy_world"},
		Tools: []spoke.ToolDescriptor{{
			CapabilityID: "tools.toy_world.roll_dice",
			Op:           "tools.toy_world.roll_dice",
			Description:  "Roll dice.",
		}},
	}
	tool, ok := manifest.FindTool(m, "tools.toy_world.roll_dice")
	fmt.Println(tool.Description, ok)
	_, ok = manifest.FindTool(m, "tools.toy_world.lore_lookup")
	fmt.Println(ok)
	// Output:
	// Roll dice. true
	// false
}

func ExampleToolSchemas_ValidateArguments() {
	tool, err := manifest.CompileTool(spoke.ToolDescriptor{
		Input: json.RawMessage(`{"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}}`),
	}, manifest.Own)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tool.ValidateArguments(json.RawMessage(`{"count": 2}`)))
	fmt.Println(tool.ValidateArguments(json.RawMessage(`{"count": 0}`)))
	// Output:
	// <nil>
	// INVALID_INPUT: arguments do not fit the tool's input: /count: Must be greater than or equal to 1
}
