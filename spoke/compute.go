package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// ComputeRequest changes the computable view of an entry. Settle merges the view into the
// static state; nil is absent, which means false.
//
// Source: wire spec, section 7.
type ComputeRequest struct {
	SessionID  string     `json:"session_id" wire:"required"`
	EntryID    string     `json:"entry_id" wire:"required"`
	Computable Fields     `json:"computable" wire:"required"`
	Settle     *bool      `json:"settle,omitzero"`
	Extensions Extensions `json:"extensions,omitzero" wire:"extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r ComputeRequest) MarshalJSON() ([]byte, error) {
	type plain ComputeRequest
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ComputeRequest) UnmarshalJSON(data []byte) error {
	type plain ComputeRequest
	return shape.Decode(data, (*plain)(r))
}

// ComputeResponse is the changed view of an entry, and its merged static state when the
// request said settle; or an error.
type ComputeResponse struct {
	SessionID  string     `json:"session_id" wire:"required"`
	EntryID    string     `json:"entry_id" wire:"required"`
	Computable Fields     `json:"computable" wire:"required"`
	State      Fields     `json:"state,omitzero"`
	Extensions Extensions `json:"extensions,omitzero" wire:"extensions"`
	// Error, unless nil, stands in place of everything but Extensions.
	Error *ErrorEnvelope `json:"error,omitzero" wire:"instead"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r ComputeResponse) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return marshalFailure(r.Error, r.Extensions, r.Unknown)
	}
	type plain ComputeResponse
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ComputeResponse) UnmarshalJSON(data []byte) error {
	type plain ComputeResponse
	return shape.Decode(data, (*plain)(r))
}

// marshalFailure encodes a response that carries an error.
func marshalFailure(failure *ErrorEnvelope, extensions Extensions, unknown map[string]json.RawMessage) ([]byte, error) {
	return wirejson.Marshal(struct {
		Error      *ErrorEnvelope             `json:"error"`
		Extensions Extensions                 `json:"extensions,omitzero"`
		Unknown    map[string]json.RawMessage `json:",embed"`
	}{failure, extensions, unknown})
}
