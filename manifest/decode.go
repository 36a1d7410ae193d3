package manifest

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Decode reads a peer's manifest and takes what is usable. The problems are those of
// [Validate]; an application that wants none refuses such a peer.
//
// A member of the wrong type counts as absent. Of capabilities, roles and namespaces
// the strings are kept and other items dropped, so that both peers negotiate the same
// set: the strings that both list. Tools that break a rule of [ValidateTools] are left
// out; a tool with an unsupported schema stays, and [CompileTool] refuses it. Unknown
// members are kept.
//
// The error is a [*spoke.Reject] of code INVALID_INPUT with details.field "host", for
// text that is not strict JSON or no object. The result shares no memory with raw. Work
// is linear in the text.
//
// Source: wire spec, section 4.
func Decode(raw json.RawMessage) (spoke.HostCapabilityManifest, []Problem, error) {
	m, err := parseObject(raw, "host")
	if err != nil {
		return spoke.HostCapabilityManifest{}, nil, err
	}
	return decodeManifest(m), Validate(raw), nil
}

func decodeManifest(m members) spoke.HostCapabilityManifest {
	host := spoke.HostCapabilityManifest{
		SchemaVersion: take[int](m, "schema_version"),
		HostID:        take[string](m, "host_id"),
		Roles:         takeStrings(m, "roles"),
		Capabilities:  takeStrings(m, "capabilities"),
		Namespaces:    takeStrings(m, "namespaces"),
		Authority:     take[*spoke.Authority](m, "authority"),
		Extensions:    take[spoke.Extensions](m, "extensions"),
		Tools:         takeTools(m),
	}
	host.Unknown = m.rest()
	host.Tools = ListTools(&host)
	return host
}

// takeStrings removes a member and returns the strings in it.
func takeStrings(m members, name string) []string {
	list, _ := stringsOf(m[name])
	delete(m, name)
	return list
}

// takeTools removes the tools and returns those that are objects with the members that
// the rule asks for.
func takeTools(m members) []spoke.ToolDescriptor {
	var tools []spoke.ToolDescriptor
	items, _ := arrayOf(m["tools"])
	delete(m, "tools")
	for _, item := range items {
		if d, ok := objectOf(item); ok && isObject(d["input"]) && isObject(d["output"]) {
			tools = append(tools, decodeDescriptor(d))
		}
	}
	return tools
}

func decodeDescriptor(m members) spoke.ToolDescriptor {
	d := spoke.ToolDescriptor{
		SchemaVersion: take[int](m, "schema_version"),
		CapabilityID:  take[string](m, "capability_id"),
		Op:            take[string](m, "op"),
		Description:   take[string](m, "description"),
		Input:         take[json.RawMessage](m, "input"),
		Output:        take[json.RawMessage](m, "output"),
		Idempotent:    take[*bool](m, "idempotent"),
	}
	d.Unknown = m.rest()
	return d
}

// rest returns the members that nobody took, nil for none.
func (m members) rest() map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return m
}
