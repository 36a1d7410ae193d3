package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// Relation is a directed edge from one entry to another, or to an anchor. RelationType is
// an open vocabulary. Revision is as for a [KnowledgeEntry].
//
// Source: wire spec, section 7.
type Relation struct {
	SchemaVersion int        `json:"schema_version" wire:"required,min=1"`
	RelationID    string     `json:"relation_id" wire:"required"`
	RelationType  string     `json:"relation_type" wire:"required"`
	FromID        string     `json:"from_id" wire:"required"`
	ToID          string     `json:"to_id" wire:"required"`
	Label         *string    `json:"label,omitzero"`
	Metadata      Fields     `json:"metadata,omitzero"`
	Revision      *int64     `json:"revision,omitzero" wire:"min=0"`
	CreatedAt     *string    `json:"created_at,omitzero" wire:"time"`
	UpdatedAt     *string    `json:"updated_at,omitzero" wire:"time"`
	Extensions    Extensions `json:"extensions" wire:"required,extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r Relation) MarshalJSON() ([]byte, error) {
	type plain Relation
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Relation) UnmarshalJSON(data []byte) error {
	type plain Relation
	return shape.Decode(data, (*plain)(r))
}
