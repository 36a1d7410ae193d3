package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// Finding is what a checker found. Severity and Status are open vocabularies.
//
// Source: wire spec, section 7.
type Finding struct {
	SchemaVersion int           `json:"schema_version" wire:"required,min=1"`
	FindingID     string        `json:"finding_id" wire:"required"`
	Severity      string        `json:"severity" wire:"required"`
	Status        string        `json:"status" wire:"required"`
	Title         string        `json:"title" wire:"required"`
	Description   string        `json:"description" wire:"required"`
	Kind          *string       `json:"kind,omitzero"`
	TargetEntryID *string       `json:"target_entry_id,omitzero"`
	SourceAnchor  *SourceAnchor `json:"source_anchor,omitzero"`
	SuggestedFix  *string       `json:"suggested_fix,omitzero"`
	TextPosition  Fields        `json:"text_position,omitzero"`
	CreatedAt     *string       `json:"created_at,omitzero" wire:"time"`
	UpdatedAt     *string       `json:"updated_at,omitzero" wire:"time"`
	Extensions    Extensions    `json:"extensions" wire:"required,extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	return wirejson.Marshal(plain(f))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Finding) UnmarshalJSON(data []byte) error {
	type plain Finding
	return shape.Decode(data, (*plain)(f))
}
