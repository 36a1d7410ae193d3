package remotetool

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// Code is the machine-readable cause of an [Error]. A tool's own codes are codes too.
type Code string

// The protocol's codes.
//
// Source: remote tool spec, sections 1, 5 and 6.
const (
	CodeInvalidRequest         Code = "tool_protocol_invalid_request"
	CodeUnknownType            Code = "tool_protocol_unknown_type"
	CodeDiscoveryDisabled      Code = "tool_discovery_disabled"
	CodeCallPayloadInvalid     Code = "tool_call_payload_invalid"
	CodeCallMissingID          Code = "tool_call_missing_id"
	CodeNotFound               Code = "tool_not_found"
	CodeExecutionDenied        Code = "tool_execution_denied"
	CodeUnavailable            Code = "tool_unavailable"
	CodeArgumentsInvalid       Code = "tool_arguments_invalid"
	CodeArgumentsSchemaInvalid Code = "tool_arguments_schema_invalid"
	CodeExecutionFailed        Code = "tool_execution_failed"
	CodeExecutionException     Code = "tool_execution_exception"
	CodeResultSchemaInvalid    Code = "tool_result_schema_invalid"
	CodeBatchPayloadInvalid    Code = "tool_batch_payload_invalid"
	CodeBatchSizeInvalid       Code = "tool_batch_size_invalid"
	CodeBatchCallInvalid       Code = "tool_batch_call_invalid"
)

// Codes of errors that this library makes and no section of the spec names.
const (
	// CodeOverloaded: too many requests of the peer are being served. Retryable.
	CodeOverloaded Code = "tool_protocol_overloaded"
	// CodeProtocol: the peer's answer breaks the protocol. Never travels.
	CodeProtocol Code = "tool_protocol_error"
	// CodeTimeout: the answer did not come in time. Never travels.
	CodeTimeout Code = "tool_request_timeout"
	// CodeCanceled: the caller gave up. Never travels.
	CodeCanceled Code = "tool_request_canceled"
	// CodeClosed: the connection ended. Never travels.
	CodeClosed Code = "tool_connection_closed"
	// CodeStream: a file did not arrive as it was announced. Never travels.
	CodeStream Code = "tool_stream_invalid"
	// CodeStreamUnsupported: the carrier cannot transfer files.
	CodeStreamUnsupported Code = "tool_stream_unsupported"
)

// Error is why a request did not succeed. Find it with errors.As and branch on Code.
// It is read-only once it was returned.
//
// Source: remote tool spec, section 5.
type Error struct {
	Code    Code
	Message string
	// Retryable says that the same request can succeed later.
	Retryable bool
	// Details is a JSON value, nil when there is none.
	Details json.RawMessage

	remote bool
	cause  error
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the local cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Remote reports whether the peer answered with this error.
func (e *Error) Remote() bool { return e.remote }

// CodeOf returns the code of the first [Error] in err's chain, "" when there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Code
	}
	return ""
}

func errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// payload returns the error as a tool.error carries it.
func (e *Error) payload() []byte {
	dst := appendText([]byte{'{'}, "code", string(e.Code))
	dst = appendBool(appendText(dst, "message", e.Message), "retryable", e.Retryable)
	if e.Details != nil {
		dst = appendRaw(dst, "details", e.Details)
	}
	return append(dst, '}')
}

// readError reads a tool.error's payload, or the error of a batch's item. The code may
// stand as code, errorCode or error.code.
func readError(payload json.RawMessage) *Error {
	m, err := membersOf(payload)
	if err != nil {
		return errorf(CodeProtocol, "the peer's error cannot be read: %w", err)
	}
	if inner, err := membersOf(m["error"]); err == nil {
		if _, ok := textOf(inner["code"]); ok {
			m = inner
		}
	}
	e := &Error{remote: true}
	code, ok := textOf(m["code"])
	if !ok {
		code, ok = textOf(m["errorCode"])
	}
	if !ok {
		return errorf(CodeProtocol, "the peer's error has no code")
	}
	e.Code = Code(code)
	e.Message, _ = textOf(m["message"])
	e.Retryable = isTrue(m["retryable"])
	e.Details = present(m["details"])
	return e
}

// members are the members of a JSON object, raw.
type members map[string]json.RawMessage

var errNotObject = errors.New("not a JSON object")

// membersOf splits an object; absent and null are no object. Values alias raw.
func membersOf(raw json.RawMessage) (members, error) {
	if present(raw) == nil {
		return nil, errNotObject
	}
	m := make(members)
	err := jcs.Split(raw, maxDepth, jcs.VisitFunc(func(name []byte, value jcs.Member) { m[string(name)] = value.Value }))
	if errors.Is(err, jcs.ErrNotObject) {
		err = errNotObject
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// present returns nil for null, which means absent everywhere.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// textOf returns a string's text, false for anything else.
func textOf(raw json.RawMessage) (string, bool) { return jcs.Member{Value: raw}.Text() }

func isTrue(raw json.RawMessage) bool { return string(raw) == "true" }
