package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Kinds of a reject that a registry makes, the value of details.kind.
const (
	// KindNotFound: the registry has no such tool. Code CAPABILITY_PORT_MISSING.
	KindNotFound = "not_found"
	// KindDenied: the guard or a ceiling forbids the tool. Code
	// CAPABILITY_PORT_MISSING.
	KindDenied = "denied"
	// KindUnavailable: the tool's probe says that it cannot run now. Code
	// INTERNAL_ERROR; the other details are those of [Availability].
	KindUnavailable = "unavailable"
)

// Names of members of details.
const (
	detailCapability   = "capability"
	detailCapabilityID = "capability_id"
	detailPath         = "path"
	detailPolicy       = "policy"
	detailRetryable    = "retryable"
	detailToolCode     = "tool_code"
)

// Failure is a tool's own error, meant for its caller: unlike other errors its text
// travels. The caller sees INTERNAL_ERROR with details.tool_code and, when Retryable is
// set, details.retryable, beside Details; [FailureOf] reads it back.
type Failure struct {
	Code      string
	Message   string
	Retryable bool
	// Details are further details, of the types that [spoke.Reject] allows. Nil for
	// none.
	Details map[string]any
}

// Error implements error.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

func (f *Failure) reject() *spoke.Reject {
	r := &spoke.Reject{Code: spoke.CodeInternalError, Message: f.Message, Details: f.Details}
	r = r.WithDetail(detailToolCode, f.Code)
	if f.Retryable {
		r = r.WithDetail(detailRetryable, true)
	}
	return r.WithCause(f)
}

// FailureOf returns the tool's own error in err's chain, from this process or from a
// peer's answer.
func FailureOf(err error) (*Failure, bool) {
	if f, ok := errors.AsType[*Failure](err); ok && f != nil {
		return f, true
	}
	r, ok := errors.AsType[*spoke.Reject](err)
	if !ok || r == nil {
		return nil, false
	}
	code, ok := r.Details[detailToolCode].(string)
	if !ok {
		return nil, false
	}
	retryable, _ := r.Details[detailRetryable].(bool)
	details := maps.Clone(r.Details)
	delete(details, detailToolCode)
	delete(details, detailRetryable)
	return &Failure{Code: code, Message: r.Message, Retryable: retryable, Details: details}, true
}

// PanicError is the local cause of the reject that a panic became. It never travels.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// rejectOf turns any error of a call into what the caller sees. Expose lets the text of
// errors through that are neither a reject nor a failure.
func rejectOf(ctx context.Context, err error, expose bool) *spoke.Reject {
	if r, ok := errors.AsType[*spoke.Reject](err); ok && r != nil {
		return r
	}
	if f, ok := errors.AsType[*Failure](err); ok && f != nil {
		return f.reject()
	}
	if ctx.Err() != nil {
		return contextReject(ctx, "the tool did not finish in time")
	}
	if _, panicked := errors.AsType[*PanicError](err); expose && !panicked {
		return spoke.Rejectf(spoke.CodeInternalError, "%v", err).WithCause(err)
	}
	return spoke.Rejectf(spoke.CodeInternalError, "the tool failed").WithCause(err)
}

// contextReject is what a caller gets once ctx has ended.
func contextReject(ctx context.Context, late string) *spoke.Reject {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return spoke.Rejectf(spoke.CodeInternalError, "%s", late).
			WithKind(spoke.KindTimeout).WithCause(context.DeadlineExceeded)
	}
	return spoke.Rejectf(spoke.CodeInternalError, "the caller gave up").
		WithKind(spoke.KindCanceled).WithCause(context.Canceled)
}

// invalid is a reject that blames a tool's declaration.
func invalid(id, format string, args ...any) *spoke.Reject {
	err := fmt.Errorf(format, args...)
	return spoke.Rejectf(spoke.CodeInvalidInput, "tool %s: %w", id, err).WithDetail(detailCapabilityID, id)
}

func notFound(id string) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeCapabilityPortMissing, "no tool %s", id).
		WithKind(KindNotFound).WithDetail(detailCapabilityID, id)
}
