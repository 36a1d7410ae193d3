package spoke

import (
	"encoding/json"
	"slices"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// ErrorEnvelope is the error member of a failure response.
//
// Source: wire spec, section 5.
type ErrorEnvelope struct {
	Code       string         `json:"code" wire:"required"`
	Message    string         `json:"message" wire:"required"`
	Details    map[string]any `json:"details,omitzero"`
	Extensions Extensions     `json:"extensions" wire:"required,extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// Error codes that exist on the wire only; [ErrorEnvelope.Reject] maps them.
const (
	WireOpUnsupported     = "op_unsupported"
	WireCapabilityMissing = "capability_missing"
	WireAuthFailed        = "auth_failed"
	WireInvalidSequence   = "invalid_sequence"
)

// wireRule says what the caller sees for one error code of the wire.
type wireRule struct {
	code        Code
	peerDetails bool // keep the peer's details
	wireCode    bool // add details.wire_code
}

// wireRules is the error envelope mapping of wire spec, section 9: the codes that
// exist on the wire only. [ruleFor] adds the two other rows.
var wireRules = map[string]wireRule{
	WireOpUnsupported:     {CodeCapabilityPortMissing, true, true},
	WireCapabilityMissing: {CodeCapabilityPortMissing, true, true},
	WireAuthFailed:        {CodeInternalError, true, false},
}

func ruleFor(wireCode string) wireRule {
	if rule, ok := wireRules[wireCode]; ok {
		return rule
	}
	if slices.Contains(Codes(), Code(wireCode)) {
		return wireRule{Code(wireCode), true, false}
	}
	return wireRule{CodeInvalidInput, false, true}
}

// Reject returns what the caller sees for e, as the peer's answer.
//
// Source: wire spec, section 9.
func (e ErrorEnvelope) Reject() *Reject {
	rule := ruleFor(e.Code)
	r := &Reject{Code: rule.code, Message: e.Message, remote: true}
	if rule.peerDetails {
		r.Details = e.Details
	}
	if rule.wireCode {
		r = r.WithDetail(DetailWireCode, e.Code)
	}
	return r
}

// Envelope returns r as the error member of a response. A code that is not one of
// [Codes] is sent as INTERNAL_ERROR: the codes that exist on the wire only are the
// session's to send. The local cause does not travel.
func (r *Reject) Envelope() ErrorEnvelope {
	code := r.Code
	if !slices.Contains(Codes(), code) {
		code = CodeInternalError
	}
	return ErrorEnvelope{Code: string(code), Message: r.Message, Details: r.Details}
}

// MarshalJSON implements [json.Marshaler].
func (e ErrorEnvelope) MarshalJSON() ([]byte, error) {
	type plain ErrorEnvelope
	return wirejson.Marshal(plain(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *ErrorEnvelope) UnmarshalJSON(data []byte) error {
	type plain ErrorEnvelope
	return wirejson.Decode(data, (*plain)(e))
}
