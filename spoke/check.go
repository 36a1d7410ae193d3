package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// CheckRequest asks for the findings about a scope: the payload of the core op check.
// RuleRefs name rules that the host has, Rules bring some along.
//
// Source: wire spec, section 5.
type CheckRequest struct {
	Scope        Scope      `json:"scope" wire:"required"`
	RuleRefs     []string   `json:"rule_refs,omitzero"`
	Rules        []Rule     `json:"rules,omitzero"`
	CheckerKinds []string   `json:"checker_kinds,omitzero"`
	Extensions   Extensions `json:"extensions,omitzero" wire:"extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r CheckRequest) MarshalJSON() ([]byte, error) {
	type plain CheckRequest
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *CheckRequest) UnmarshalJSON(data []byte) error {
	type plain CheckRequest
	return shape.Decode(data, (*plain)(r))
}

// CheckResponse is what the checkers found, or an error.
type CheckResponse struct {
	Findings   []Finding  `json:"findings" wire:"required"`
	Extensions Extensions `json:"extensions,omitzero" wire:"extensions"`
	// Error, unless nil, stands in place of everything but Extensions.
	Error *ErrorEnvelope `json:"error,omitzero" wire:"instead"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (r CheckResponse) MarshalJSON() ([]byte, error) {
	if r.Error != nil {
		return marshalFailure(r.Error, r.Extensions, r.Unknown)
	}
	type plain CheckResponse
	return wirejson.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *CheckResponse) UnmarshalJSON(data []byte) error {
	type plain CheckResponse
	return shape.Decode(data, (*plain)(r))
}
