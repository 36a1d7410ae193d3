package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// AssemblePacket is a context that was assembled for somebody: slim references to
// entries, in order.
type AssemblePacket struct {
	SchemaVersion int             `json:"schema_version" wire:"required,min=1"`
	PacketID      string          `json:"packet_id" wire:"required"`
	Entries       []AssembleEntry `json:"entries" wire:"required"`
	Extensions    Extensions      `json:"extensions" wire:"required,extensions"`
	Modules       Modules         `json:"modules,omitzero" wire:"modules"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// AssembleEntry refers to one entry of an [AssemblePacket].
type AssembleEntry struct {
	EntryID       string  `json:"entry_id" wire:"required"`
	EntryType     string  `json:"entry_type" wire:"required"`
	CanonicalName string  `json:"canonical_name" wire:"required,nonempty"`
	Snippet       *string `json:"snippet,omitzero"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (p AssemblePacket) MarshalJSON() ([]byte, error) {
	type plain AssemblePacket
	return wirejson.Marshal(plain(p))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *AssemblePacket) UnmarshalJSON(data []byte) error {
	type plain AssemblePacket
	return shape.Decode(data, (*plain)(p))
}

// MarshalJSON implements [json.Marshaler].
func (e AssembleEntry) MarshalJSON() ([]byte, error) {
	type plain AssembleEntry
	return wirejson.Marshal(plain(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *AssembleEntry) UnmarshalJSON(data []byte) error {
	type plain AssembleEntry
	return shape.Decode(data, (*plain)(e))
}
