package spoke

import (
	"errors"
	"fmt"
	"maps"
)

// Reject is why an invoke did not succeed. It is an error; find it with errors.As
// and branch on its Code.
//
// Details is the reject's structured context, nil when there is none. Values are
// what encoding/json decodes into an any: string, float64, bool, nil, []any and
// map[string]any. A Reject is read-only once it was returned.
//
// Source: wire spec, section 9.
type Reject struct {
	Code    Code
	Message string
	Details map[string]any

	remote bool
	cause  error
}

// Rejectf returns a local reject with a formatted message and no details. A %w verb
// makes the wrapped error its cause.
func Rejectf(code Code, format string, args ...any) *Reject {
	err := fmt.Errorf(format, args...)
	return &Reject{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// WithDetail returns a copy of r with one more member in its details.
func (r *Reject) WithDetail(name string, value any) *Reject {
	c := *r
	c.Details = maps.Clone(r.Details)
	if c.Details == nil {
		c.Details = make(map[string]any, 1)
	}
	c.Details[name] = value
	return &c
}

// WithKind returns a copy of r with details.kind set, one of the Kind constants.
func (r *Reject) WithKind(kind string) *Reject { return r.WithDetail(DetailKind, kind) }

// WithCause returns a copy of r that unwraps to err. The cause stays in this
// process; it never travels.
func (r *Reject) WithCause(err error) *Reject {
	c := *r
	c.cause = err
	return &c
}

// Error implements error: the code, the kind if there is one, and the message.
func (r *Reject) Error() string {
	if kind := r.Kind(); kind != "" {
		return string(r.Code) + " (" + kind + "): " + r.Message
	}
	return string(r.Code) + ": " + r.Message
}

// Unwrap returns the local cause, such as context.Canceled, or nil.
func (r *Reject) Unwrap() error { return r.cause }

// Kind returns details.kind, or "" when it is absent or not a string.
func (r *Reject) Kind() string { return r.detailString(DetailKind) }

// WireCode returns details.wire_code: the error code that the peer sent where the
// protocol maps it to another, or "".
func (r *Reject) WireCode() string { return r.detailString(DetailWireCode) }

// Remote reports whether the peer answered with this reject, as opposed to one that
// was made on this side (a timeout, a closed session, an answer that did not verify).
func (r *Reject) Remote() bool { return r.remote }

func (r *Reject) detailString(name string) string {
	s, _ := r.Details[name].(string)
	return s
}

// CodeOf returns the code of the first [Reject] in err's chain, CodeInternalError
// for any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if r, ok := errors.AsType[*Reject](err); ok && r != nil {
		return r.Code
	}
	return CodeInternalError
}

// KindOf returns details.kind of the first [Reject] in err's chain, or "".
func KindOf(err error) string {
	if r, ok := errors.AsType[*Reject](err); ok && r != nil {
		return r.Kind()
	}
	return ""
}
