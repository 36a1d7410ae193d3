package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// SchemaVersion is the data schema version that this library writes.
const SchemaVersion = 1

// Extensions holds members by product namespace, each value a JSON object whose
// text is kept as it came. Nil encodes as {}. Extensions are never used for a
// decision.
type Extensions map[string]json.RawMessage

// HostCapabilityManifest is a peer's description of itself: what it can do, which
// namespaces it owns and which tools it offers. It travels inside the signed hello.
//
// HostID is a label; the trust root is the peer id. Nil Roles, Capabilities and
// Namespaces encode as [], which no valid manifest has: each needs an entry, such as
// "app", "spoke-baseline" and "example". A nil Tools is left out. Use manifest.Validate
// for the rules that types cannot express.
//
// Source: wire spec, sections 4 and 6.
type HostCapabilityManifest struct {
	SchemaVersion int              `json:"schema_version" wire:"required,min=1"`
	HostID        string           `json:"host_id" wire:"required,nonempty"`
	Roles         []string         `json:"roles" wire:"required"`
	Capabilities  []string         `json:"capabilities" wire:"required"`
	Namespaces    []string         `json:"namespaces" wire:"required"`
	Authority     *Authority       `json:"authority,omitzero"`
	Extensions    Extensions       `json:"extensions" wire:"required,extensions"`
	Tools         []ToolDescriptor `json:"tools,omitzero"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// Authority names the scope of which a host is the single writer.
type Authority struct {
	ScopeKey string `json:"scope_key" wire:"required,nonempty"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// ToolDescriptor declares one tool: its id, what it is for, and the draft-07
// schemas of its arguments and of its result. Op always equals CapabilityID. A nil
// Input or Output encodes as {}, which accepts anything.
//
// Source: wire spec, section 6.
type ToolDescriptor struct {
	SchemaVersion int             `json:"schema_version" wire:"required,min=1"`
	CapabilityID  string          `json:"capability_id" wire:"required"`
	Op            string          `json:"op" wire:"required"`
	Description   string          `json:"description" wire:"required,nonempty"`
	Input         json.RawMessage `json:"input" wire:"required,object"`
	Output        json.RawMessage `json:"output" wire:"required,object"`
	// Idempotent says that calling twice is as good as calling once. Nil is
	// absent, which means false.
	Idempotent *bool `json:"idempotent,omitzero"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (m HostCapabilityManifest) MarshalJSON() ([]byte, error) {
	type plain HostCapabilityManifest
	return wirejson.Marshal(plain(m))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *HostCapabilityManifest) UnmarshalJSON(data []byte) error {
	type plain HostCapabilityManifest
	return wirejson.Decode(data, (*plain)(m))
}

// MarshalJSON implements [json.Marshaler].
func (a Authority) MarshalJSON() ([]byte, error) {
	type plain Authority
	return wirejson.Marshal(plain(a))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Authority) UnmarshalJSON(data []byte) error {
	type plain Authority
	return wirejson.Decode(data, (*plain)(a))
}

// MarshalJSON implements [json.Marshaler].
func (d ToolDescriptor) MarshalJSON() ([]byte, error) {
	type plain ToolDescriptor
	p := plain(d)
	if p.Input == nil {
		p.Input = json.RawMessage("{}")
	}
	if p.Output == nil {
		p.Output = json.RawMessage("{}")
	}
	return wirejson.Marshal(p)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *ToolDescriptor) UnmarshalJSON(data []byte) error {
	type plain ToolDescriptor
	return wirejson.Decode(data, (*plain)(d))
}
