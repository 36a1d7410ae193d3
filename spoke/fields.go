package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// Fields holds domain values by field name, each as its JSON text: the state and the
// computable view of an entry, the metadata of a relation. The names are the product's.
type Fields map[string]json.RawMessage

// Modules holds functional dialects by name, each the JSON text of an object or a list
// that is kept as it came.
type Modules map[string]json.RawMessage

// FieldChange records one changed field for display. Path is a dotted path or a JSON
// Pointer. Previous and Next are JSON texts; nil is absent.
type FieldChange struct {
	Path     string          `json:"path" wire:"required"`
	Previous json.RawMessage `json:"previous,omitzero"`
	Next     json.RawMessage `json:"next,omitzero"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (c FieldChange) MarshalJSON() ([]byte, error) {
	type plain FieldChange
	return wirejson.Marshal(plain(c))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *FieldChange) UnmarshalJSON(data []byte) error {
	type plain FieldChange
	return shape.Decode(data, (*plain)(c))
}
