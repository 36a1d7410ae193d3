package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// Rule is a constraint that checkers work by; what they find is a [Finding]. Kind, Status
// and SeverityHint are open vocabularies.
//
// Source: wire spec, section 7.
type Rule struct {
	SchemaVersion    int           `json:"schema_version" wire:"required,min=1"`
	RuleID           string        `json:"rule_id" wire:"required"`
	CanonicalName    string        `json:"canonical_name" wire:"required,nonempty"`
	Kind             string        `json:"kind" wire:"required"`
	Statement        *string       `json:"statement,omitzero"`
	Description      *string       `json:"description,omitzero"`
	TargetEntryTypes []string      `json:"target_entry_types,omitzero"`
	SeverityHint     *string       `json:"severity_hint,omitzero"`
	SourceAnchor     *SourceAnchor `json:"source_anchor,omitzero"`
	Status           *string       `json:"status,omitzero"`
	CreatedAt        *string       `json:"created_at,omitzero" wire:"time"`
	UpdatedAt        *string       `json:"updated_at,omitzero" wire:"time"`
	Extensions       Extensions    `json:"extensions" wire:"required,extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r Rule) MarshalJSON() ([]byte, error) {
	type plain Rule
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Rule) UnmarshalJSON(data []byte) error {
	type plain Rule
	return shape.Decode(data, (*plain)(r))
}
