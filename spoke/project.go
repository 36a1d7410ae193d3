package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// ProjectRequest asks for the computable view of an entry's static state, which a
// computation then works on. SessionID correlates the requests of one computation; it has
// nothing to do with a session of the connection.
//
// Source: wire spec, section 7.
type ProjectRequest struct {
	SessionID  string     `json:"session_id" wire:"required"`
	EntryID    string     `json:"entry_id" wire:"required"`
	State      Fields     `json:"state" wire:"required"`
	Extensions Extensions `json:"extensions,omitzero" wire:"extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r ProjectRequest) MarshalJSON() ([]byte, error) {
	type plain ProjectRequest
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ProjectRequest) UnmarshalJSON(data []byte) error {
	type plain ProjectRequest
	return shape.Decode(data, (*plain)(r))
}

// ProjectResponse is the computable view of an entry, or an error.
type ProjectResponse struct {
	SessionID  string     `json:"session_id" wire:"required"`
	EntryID    string     `json:"entry_id" wire:"required"`
	Computable Fields     `json:"computable" wire:"required"`
	Extensions Extensions `json:"extensions,omitzero" wire:"extensions"`
	// Error, unless nil, stands in place of everything but Extensions.
	Error *ErrorEnvelope `json:"error,omitzero" wire:"instead"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r ProjectResponse) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return marshalFailure(r.Error, r.Extensions, r.Unknown)
	}
	type plain ProjectResponse
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ProjectResponse) UnmarshalJSON(data []byte) error {
	type plain ProjectResponse
	return shape.Decode(data, (*plain)(r))
}
