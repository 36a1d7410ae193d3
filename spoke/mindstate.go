package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// MindState is what somebody believed, felt or attended to at one point in time. It is
// derived from the holder's entry and never an authority over it.
type MindState struct {
	SchemaVersion int           `json:"schema_version" wire:"required,min=1"`
	MindStateID   string        `json:"mind_state_id" wire:"required,nonempty"`
	HolderEntryID string        `json:"holder_entry_id" wire:"required,nonempty"`
	CanonicalName *string       `json:"canonical_name,omitzero" wire:"nonempty"`
	OccurredAt    *string       `json:"occurred_at,omitzero" wire:"time"`
	SortKey       *string       `json:"sort_key,omitzero"`
	Snapshot      Fields        `json:"snapshot,omitzero"`
	Deltas        []FieldChange `json:"deltas,omitzero"`
	SourceAnchor  *SourceAnchor `json:"source_anchor,omitzero"`
	CreatedAt     *string       `json:"created_at,omitzero" wire:"time"`
	UpdatedAt     *string       `json:"updated_at,omitzero" wire:"time"`
	Extensions    Extensions    `json:"extensions" wire:"required,extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (m MindState) MarshalJSON() ([]byte, error) {
	type plain MindState
	return wirejson.Marshal(plain(m))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *MindState) UnmarshalJSON(data []byte) error {
	type plain MindState
	return shape.Decode(data, (*plain)(m))
}
