package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Capabilities that the protocol itself gives a meaning.
const (
	CapabilityBaseline   = "spoke-baseline"
	CapabilityComputable = "l2-computable"
	CapabilityFork       = "l5-fork"
)

// toolPrefix begins the op of every tool; portPrefix that of every port.
const (
	toolPrefix = "tools."
	portPrefix = "port."
)

// coreOps are the core ops and the capability that each requires.
//
// Source: wire spec, section 5.
var coreOps = map[string]string{
	"upsert":   CapabilityBaseline,
	"promote":  CapabilityBaseline,
	"relate":   CapabilityBaseline,
	"check":    CapabilityBaseline,
	"assemble": CapabilityBaseline,
	"project":  CapabilityComputable,
	"compute":  CapabilityComputable,
}

// CoreCapability returns the capability that a core op or a tool requires: for a
// tool its op itself. Any other op is told false.
//
// Source: wire spec, section 5.
func CoreCapability(op string) (string, bool) {
	if strings.HasPrefix(op, toolPrefix) {
		return op, true
	}
	capability, ok := coreOps[op]
	return capability, ok
}

// RequiredCapability returns the capability that an op of the protocol requires of a
// peer: of a core op, a tool or a port. Any other op is told false.
//
// Source: wire spec, sections 5 and 7.
func RequiredCapability(op string) (string, bool) {
	if capability, ok := CoreCapability(op); ok {
		return capability, true
	}
	return PortCapability(op)
}

// Op is an op of the application: its name, the capability that a peer must have
// negotiated to invoke it, and what serves it.
type Op struct {
	// Name is the op on the wire, at most 256 characters. Ops of tools and ports are
	// not registered this way.
	Name string

	// Capability is required of the peer. It is left empty for the core ops, whose
	// capability the protocol fixes, and only for them.
	Capability string

	// Handle serves one request. Payload is canonical JSON of any kind and may be
	// kept; the result is the success payload. Errors and ctx are as for a
	// [spoke.ToolHandler].
	Handle func(ctx context.Context, payload json.RawMessage) (any, error)
}

// check reports why the op cannot be registered.
func (o Op) check() error {
	core, isCore := coreOps[o.Name]
	switch {
	case o.Name == "" || utf16Length(o.Name) > maxOpLength || !validText(o.Name):
		return fmt.Errorf("op %q: the name must have 1 to %d characters", o.Name, maxOpLength)
	case strings.HasPrefix(o.Name, toolPrefix), strings.HasPrefix(o.Name, portPrefix):
		return fmt.Errorf("op %q: tools and ports are not registered as ops", o.Name)
	case o.Handle == nil:
		return fmt.Errorf("op %q: no handler", o.Name)
	case isCore && o.Capability != "" && o.Capability != core:
		return fmt.Errorf("op %q: the protocol requires capability %q", o.Name, core)
	case !isCore && o.Capability == "":
		return fmt.Errorf("op %q: no capability", o.Name)
	}
	return nil
}

// required returns the capability that the op requires.
func (o Op) required() string {
	if core, ok := coreOps[o.Name]; ok {
		return core
	}
	return o.Capability
}
