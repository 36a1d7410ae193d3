package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Trace lets a protocol that serves a registry look into one call, where the order of
// the checks matters to it. Functions may be nil. Middleware decides how often and on
// which goroutines they are called, also after the call was answered.
type Trace struct {
	// Arguments judges the arguments of a call that the guard and the tool's probe let
	// pass, before the tool's input is looked at. Its error ends the call and reaches
	// the caller in the error's chain.
	Arguments func(t *Tool, args json.RawMessage) error
	// Started is called right before the handler runs.
	Started func()
	// Result judges a handler's result before the tool's output is looked at.
	Result func(t *Tool, result json.RawMessage) error
	// Misfit is told why the registry refuses arguments, or a result once the handler
	// has returned one, and returns what the caller gets in its place.
	Misfit func(r *spoke.Reject, returned bool) error
}

type traceKey struct{}

// WithTrace returns a context whose next call on a registry is traced. Calls that its
// middleware and its handler make in turn are not.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, &trace)
}

// takeTrace returns the trace of ctx, nil for none, and the context of the call, which
// has none.
func takeTrace(ctx context.Context) (*Trace, context.Context) {
	trace, _ := ctx.Value(traceKey{}).(*Trace)
	if trace == nil {
		return nil, ctx
	}
	return trace, context.WithValue(ctx, traceKey{}, (*Trace)(nil))
}

func (t *Trace) arguments(tool *Tool, args json.RawMessage) error {
	if t == nil || t.Arguments == nil {
		return nil
	}
	return t.Arguments(tool, args)
}

func (t *Trace) started() {
	if t != nil && t.Started != nil {
		t.Started()
	}
}

func (t *Trace) result(tool *Tool, result json.RawMessage) error {
	if t == nil || t.Result == nil {
		return nil
	}
	return t.Result(tool, result)
}

// misfit hands on what the registry itself found.
func (t *Trace) misfit(err error, returned bool) error {
	if r, ok := errors.AsType[*spoke.Reject](err); ok && t != nil && t.Misfit != nil {
		return t.Misfit(r, returned)
	}
	return err
}
