package tools

import (
	"context"
	"encoding/json"
	"runtime/debug"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/spoke"
)

// ToolHandler implements [spoke.ToolSource]: it returns what serves the tool, false for
// one that is not registered. A tool that the guard forbids has a handler that refuses,
// so that middleware sees the attempt.
func (r *Registry) ToolHandler(capabilityID string) (spoke.ToolHandler, bool) {
	e, ok := r.lookup(capabilityID)
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, args json.RawMessage) (any, error) {
		return r.serve(ctx, e.Tool, args)
	}, true
}

// InvokeTool runs a tool of the registry's own; it implements [spoke.ToolInvoker] and
// refuses what a session refuses: an id outside the grammar and arguments that are not
// a JSON object or that could not travel exactly.
//
// In this order, a call that gets past its middleware is refused when the guard or a
// ceiling forbids it (kind denied), when its tool is unavailable (unavailable), when
// its arguments do not fit (INVALID_INPUT) and when too many calls of the tool run
// (overloaded). A tool that nobody registered is CAPABILITY_PORT_MISSING of kind
// not_found.
//
// Source: wire spec, sections 6 and 9.
func (r *Registry) InvokeTool(ctx context.Context, capabilityID string, args any) (json.RawMessage, error) {
	if err := gate(capabilityID); err != nil {
		return nil, err
	}
	canonical, err := encodeArguments(args)
	if err != nil {
		return nil, err
	}
	e, ok := r.lookup(capabilityID)
	if !ok {
		return nil, notFound(capabilityID)
	}
	return r.serve(ctx, e.Tool, canonical)
}

// InvokeEntry is [Registry.InvokeTool] for a tool that was found before, by
// [Registry.Lookup] or in a listing: it runs that very tool, also when it was replaced or
// taken out since. The guard, the ceilings and the probe are asked now. An entry of no
// tool, or of one with an error, is INVALID_INPUT.
func (r *Registry) InvokeEntry(ctx context.Context, e Entry, args any) (json.RawMessage, error) {
	if err := r.admissible(e.Tool); err != nil {
		return nil, err
	}
	canonical, err := encodeArguments(args)
	if err != nil {
		return nil, err
	}
	return r.serve(ctx, e.Tool, canonical)
}

// serve runs one call through the middleware and contains every panic.
func (r *Registry) serve(ctx context.Context, t *Tool, args json.RawMessage) (json.RawMessage, error) {
	trace, ctx := takeTrace(ctx)
	result, err := r.contain(func() (json.RawMessage, error) {
		return r.call(ctx, &Invocation{Tool: t, Arguments: args, ceiling: r.ceiling, trace: trace})
	})
	if err != nil {
		return nil, rejectOf(ctx, err, false)
	}
	return result, nil
}

// contain turns a panic of f into an error and logs it.
func (c *core) contain(f func() (json.RawMessage, error)) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			c.cfg.Logger.Error("a tool call panicked", "panic", v, "stack", string(stack))
			result, err = nil, &PanicError{Value: v, Stack: stack}
		}
	}()
	return f()
}

// run is the call inside all middleware.
func (c *core) run(ctx context.Context, call *Invocation) (json.RawMessage, error) {
	t, trace := call.Tool, call.trace
	if ctx.Err() != nil {
		return nil, contextReject(ctx, "no time was left for the call")
	}
	if !c.bound(ctx, call.ceiling).runs(t) {
		return nil, denied(t)
	}
	if t.meta.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.meta.Timeout)
		defer cancel()
	}
	if r := t.meta.Probe.ask(ctx).reject(t.ID()); r != nil {
		return nil, r
	}
	args, err := t.acceptArguments(trace, call.Arguments)
	if err != nil {
		return nil, err
	}
	if !t.admit() {
		return nil, spoke.Rejectf(spoke.CodeInternalError, "too many calls of %s are running", t.ID()).
			WithKind(spoke.KindOverloaded).WithDetail(detailCapabilityID, t.ID())
	}
	defer t.running.Add(-1)
	trace.started()
	return c.handle(ctx, t, trace, args)
}

// acceptArguments checks the arguments and returns what the handler gets.
func (t *Tool) acceptArguments(trace *Trace, args json.RawMessage) (json.RawMessage, error) {
	if err := trace.arguments(t, args); err != nil {
		return nil, err
	}
	if !t.meta.FlattenedStrings {
		return args, trace.misfit(t.schemas.ValidateArguments(args), false)
	}
	flat, err := FlattenStrings(args)
	if err != nil {
		return nil, decodeReject(err)
	}
	return wirejson.Marshal(flat)
}

func denied(t *Tool) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeCapabilityPortMissing, "%s may not be called here", t.ID()).
		WithKind(KindDenied).WithDetail(detailCapabilityID, t.ID()).WithDetail(detailPolicy, string(t.meta.Policy))
}

// handle runs the handler and checks what it returns. A panic is contained here, so
// that middleware sees it as a failed call.
func (c *core) handle(ctx context.Context, t *Tool, trace *Trace, args json.RawMessage) (json.RawMessage, error) {
	result, err := c.contain(func() (json.RawMessage, error) {
		value, err := t.handler(ctx, args)
		if err != nil {
			return nil, err
		}
		return t.encodeResult(trace, value)
	})
	if err != nil {
		return nil, rejectOf(ctx, err, t.meta.ExposeErrors)
	}
	return result, nil
}

// encodeResult returns a handler's value as canonical JSON that fits the output.
func (t *Tool) encodeResult(trace *Trace, value any) (json.RawMessage, error) {
	raw, err := wirejson.Raw(value)
	if err == nil {
		raw, err = jcs.CanonicalExact(raw, 0)
	}
	if err != nil {
		return nil, trace.misfit(spoke.Rejectf(spoke.CodeInternalError, "the result cannot be sent").
			WithKind(spoke.KindResult).WithCause(err), true)
	}
	if err := trace.result(t, raw); err != nil || t.meta.FlattenedStrings {
		return raw, err
	}
	return raw, trace.misfit(t.schemas.ValidateResult(raw), true)
}
