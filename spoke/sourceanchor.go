package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// SourceAnchor points to where something comes from: a manuscript, a scene, a web page.
// The grammar of SourceID is the product's.
type SourceAnchor struct {
	SchemaVersion int         `json:"schema_version" wire:"required,min=1"`
	SourceID      string      `json:"source_id" wire:"required"`
	Span          *SourceSpan `json:"span,omitzero"`
	Label         *string     `json:"label,omitzero"`
	MIMEType      *string     `json:"mime_type,omitzero"`
	Extensions    Extensions  `json:"extensions" wire:"required,extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// SourceSpan is a part of a source, from Start up to but not including End. The unit, a
// byte or a character, is the source's.
type SourceSpan struct {
	Start float64 `json:"start" wire:"required"`
	End   float64 `json:"end" wire:"required"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (a SourceAnchor) MarshalJSON() ([]byte, error) {
	type plain SourceAnchor
	return wirejson.Marshal(plain(a))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *SourceAnchor) UnmarshalJSON(data []byte) error {
	type plain SourceAnchor
	return shape.Decode(data, (*plain)(a))
}

// MarshalJSON implements [json.Marshaler].
func (s SourceSpan) MarshalJSON() ([]byte, error) {
	type plain SourceSpan
	return wirejson.Marshal(plain(s))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *SourceSpan) UnmarshalJSON(data []byte) error {
	type plain SourceSpan
	return shape.Decode(data, (*plain)(s))
}
