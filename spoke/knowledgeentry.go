package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// KnowledgeEntry is one unit of what a world knows: a character, a place, a thing, a
// note. EntryType and Status are open vocabularies.
//
// Revision belongs to the store that holds the entry and counts its puts from 1; nil is
// absent. Members that are nil or zero pointers are absent and stay absent.
//
// Source: wire spec, section 7.
type KnowledgeEntry struct {
	SchemaVersion int           `json:"schema_version" wire:"required,min=1"`
	EntryID       string        `json:"entry_id" wire:"required"`
	EntryType     string        `json:"entry_type" wire:"required"`
	CanonicalName string        `json:"canonical_name" wire:"required,nonempty"`
	Status        string        `json:"status" wire:"required"`
	Body          KnowledgeBody `json:"body" wire:"required"`
	SourceAnchor  *SourceAnchor `json:"source_anchor,omitzero"`
	Revision      *int64        `json:"revision,omitzero" wire:"min=0"`
	CreatedAt     *string       `json:"created_at,omitzero" wire:"time"`
	UpdatedAt     *string       `json:"updated_at,omitzero" wire:"time"`
	Extensions    Extensions    `json:"extensions" wire:"required,extensions"`
	Modules       Modules       `json:"modules,omitzero" wire:"modules"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// KnowledgeBody is what an entry says. State is what holds for good, Computable the view
// of it that a computation works on (capability l2-computable).
type KnowledgeBody struct {
	Summary    *string         `json:"summary,omitzero"`
	Tags       []string        `json:"tags,omitzero"`
	Attributes []BodyAttribute `json:"attributes,omitzero"`
	State      Fields          `json:"state,omitzero"`
	Computable Fields          `json:"computable,omitzero"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// BodyAttribute is one trait of an entry. Value is the JSON text of a string, a number or
// a boolean.
type BodyAttribute struct {
	TraitType   string          `json:"trait_type" wire:"required,nonempty"`
	Value       json.RawMessage `json:"value" wire:"required,scalar"`
	DisplayType *string         `json:"display_type,omitzero"`
	MaxValue    *float64        `json:"max_value,omitzero"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (e KnowledgeEntry) MarshalJSON() ([]byte, error) {
	type plain KnowledgeEntry
	return wirejson.Marshal(plain(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *KnowledgeEntry) UnmarshalJSON(data []byte) error {
	type plain KnowledgeEntry
	return shape.Decode(data, (*plain)(e))
}

// MarshalJSON implements [json.Marshaler].
func (b KnowledgeBody) MarshalJSON() ([]byte, error) {
	type plain KnowledgeBody
	return wirejson.Marshal(plain(b))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *KnowledgeBody) UnmarshalJSON(data []byte) error {
	type plain KnowledgeBody
	return shape.Decode(data, (*plain)(b))
}

// MarshalJSON implements [json.Marshaler].
func (a BodyAttribute) MarshalJSON() ([]byte, error) {
	type plain BodyAttribute
	return wirejson.Marshal(plain(a))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *BodyAttribute) UnmarshalJSON(data []byte) error {
	type plain BodyAttribute
	return shape.Decode(data, (*plain)(a))
}
