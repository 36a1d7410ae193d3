package remotetool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// call is the request payload of tool.call.
type call struct {
	id        string
	arguments json.RawMessage // nil when absent
	after     *after
	callID    string
}

// answerCall answers tool.call.
//
// Source: remote tool spec, section 5.
func (p *Provider) answerCall(ctx context.Context, payload json.RawMessage) (string, json.RawMessage) {
	c, fault := readCall(payload)
	if fault != nil {
		return failed(fault)
	}
	result, fault := p.run(ctx, c)
	if fault != nil {
		return failed(fault)
	}
	return TypeResult, append(append([]byte{'{'}, result...), '}')
}

// readCall reads a payload and judges the types of its members, before anything runs.
// What arguments are is judged later.
func readCall(payload json.RawMessage) (call, *Error) {
	m, err := membersOf(payload)
	if err != nil {
		return call{}, errorf(CodeCallPayloadInvalid, "the payload must be an object")
	}
	c := call{arguments: present(m["arguments"])}
	for _, member := range []struct {
		name string
		to   *string
	}{{"toolId", &c.id}, {"callId", &c.callID}} {
		text, ok := textOf(m[member.name])
		if present(m[member.name]) != nil && !ok {
			return call{}, errorf(CodeCallPayloadInvalid, "%s must be a text", member.name)
		}
		*member.to = text
	}
	var fault *Error
	if c.after, fault = readAfter(m["after"]); fault != nil {
		return call{}, fault
	}
	if strings.TrimSpace(c.id) == "" {
		return call{}, errorf(CodeCallMissingID, "toolId is missing")
	}
	return c, nil
}

// run makes a call and takes evidence, and returns the members of a result.
func (p *Provider) run(ctx context.Context, c call) ([]byte, *Error) {
	x, ok := p.catalogs.find(p.registry, c.id)
	if !ok {
		return nil, errorf(CodeNotFound, "there is no tool %q", clip(c.id))
	}
	inner, end := withCallBox(ctx)
	result, fault := p.invoke(inner, x, c.arguments)
	end(fault == nil)
	if fault != nil {
		return nil, fault
	}
	members := appendRaw(appendBool(appendText([]byte{'{'}, "toolId", x.id), "success", true), "result", result)
	if evidence := p.evidence(ctx, x, c.after); evidence != nil {
		members = appendRaw(members, "evidence", evidence)
	}
	return members[1:], nil
}

// exceptionText is what a peer is told of a panic.
const exceptionText = "the tool ended unexpectedly"

// invocation follows one call through the registry. Middleware may leave the call
// running when it has answered.
type invocation struct {
	definition *definition
	bad        *Error // what is wrong with the arguments before any schema is asked
	started    atomic.Bool
}

// invoke runs a tool of the registry, which asks in the order of section 5.
func (p *Provider) invoke(ctx context.Context, x *definition, arguments json.RawMessage) (json.RawMessage, *Error) {
	v := &invocation{definition: x}
	args := v.prepare(ctx, arguments)
	ctx = tools.WithTrace(ctx, tools.Trace{
		Arguments: v.judgeArguments,
		Started:   func() { v.started.Store(true) },
		Result:    v.judgeResult,
		Misfit:    v.misfit,
	})
	var result json.RawMessage
	var err error
	switch {
	case !returns(func() { result, err = p.registry.InvokeEntry(ctx, x.entry, args) }):
		return nil, errorf(CodeExecutionException, exceptionText)
	case err != nil:
		return nil, v.fault(err)
	}
	if err := jcs.Check(result, maxValueDepth); err != nil {
		return nil, schemaError(CodeResultSchemaInvalid, x.id, []issue{{"$", issueType, "cannot be sent: " + err.Error()}})
	}
	return result, nil
}

// returns runs f on a goroutine of its own and reports whether it came back, which it does
// not when a handler leaves by runtime.Goexit, nor after a panic. The registry contains
// and logs those of tools and middleware; what is left is an error value's methods.
func returns(f func()) (back bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
		back = true
	}()
	<-done
	return back
}

// prepare returns the arguments as the registry takes them, and keeps what is wrong with
// them until it is their turn.
func (v *invocation) prepare(ctx context.Context, arguments json.RawMessage) json.RawMessage {
	empty := json.RawMessage("{}")
	if arguments == nil {
		arguments = empty
	}
	canonical, err := jcs.CanonicalExact(arguments, maxDepth)
	switch {
	case arguments[0] != '{':
		v.bad = errorf(CodeArgumentsInvalid, "arguments must be an object")
		return empty
	case v.definition.flattened:
		canonical, err = flatten(ctx, arguments)
	}
	if err != nil {
		v.bad = errorf(CodeArgumentsInvalid, "arguments: %w", err)
		return empty
	}
	return canonical
}

// Names of members that a tool of flattened strings gets beside its arguments.
const (
	flatRequestID = "__ansight_requestId"
	flatSessionID = "__ansight_sessionId"
)

// flatten returns the strings that a tool of flattened strings gets.
func flatten(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	flat, err := tools.FlattenStrings(arguments)
	if err != nil {
		return nil, err
	}
	r := requestOf(ctx)
	flat[flatRequestID], flat[flatSessionID] = r.id, r.sessionID
	return wirejson.Marshal(flat)
}

// judgeArguments leaves the arguments of a tool that a middleware has put in the place of
// the called one to that tool's own schemas.
func (v *invocation) judgeArguments(t *tools.Tool, args json.RawMessage) error {
	if v.bad != nil {
		return v.verdict(v.bad)
	}
	if v.definition.flattened || t != v.definition.entry.Tool {
		return nil
	}
	if issues := v.definition.arguments.check(args); len(issues) > 0 {
		return v.verdict(schemaError(CodeArgumentsSchemaInvalid, v.definition.id, issues))
	}
	return nil
}

func (v *invocation) judgeResult(t *tools.Tool, result json.RawMessage) error {
	if v.definition.flattened || t != v.definition.entry.Tool {
		return nil
	}
	if issues := v.definition.result.check(result); len(issues) > 0 {
		return v.verdict(schemaError(CodeResultSchemaInvalid, v.definition.id, issues))
	}
	return nil
}

// misfit is for what the tool's own schemas say beyond the subset.
func (v *invocation) misfit(r *spoke.Reject, returned bool) error {
	code := CodeArgumentsSchemaInvalid
	if returned {
		code = CodeResultSchemaInvalid
	}
	e := schemaError(code, v.definition.id, issuesOf(r))
	e.cause = r
	return r.WithCause(&verdict{v, e})
}

// verdict is what is wrong with one call in this protocol's words. Other errors can have
// an [*Error] in their chain as well, such as that of a peer which a tool calls in turn;
// none of those is for our caller.
type verdict struct {
	of    *invocation
	fault *Error
}

// Error implements error.
func (e *verdict) Error() string { return e.fault.Error() }

// Unwrap returns what the peer is told.
func (e *verdict) Unwrap() error { return e.fault }

// verdict returns the reject that middleware sees, as the registry would have made it.
func (v *invocation) verdict(e *Error) error {
	r := spoke.Rejectf(spoke.CodeInvalidInput, "%s", e.Message)
	if e.Code == CodeResultSchemaInvalid {
		r = spoke.Rejectf(spoke.CodeInternalError, "%s", e.Message).WithKind(spoke.KindResult)
	}
	return r.WithCause(&verdict{v, e})
}

func schemaError(code Code, id string, issues []issue) *Error {
	what := "arguments of"
	if code == CodeResultSchemaInvalid {
		what = "result of"
	}
	e := errorf(code, "the %s %s: %s %s", what, id, issues[0].path, issues[0].message)
	e.Details = validation(issues)
	return e
}

// fault says in the protocol's words why a call failed.
//
// Source: remote tool spec, section 5.
func (v *invocation) fault(err error) *Error {
	if own, ok := errors.AsType[*verdict](err); ok && own.of == v {
		return own.fault
	}
	if errors.Is(err, errNoReceiver) {
		return errNoReceiver
	}
	if _, panicked := errors.AsType[*tools.PanicError](err); panicked {
		return errorf(CodeExecutionException, exceptionText)
	}
	r, ok := errors.AsType[*spoke.Reject](err)
	if !ok {
		return errorf(CodeExecutionFailed, "the tool failed")
	}
	if !v.started.Load() && v.about(r) {
		return v.refusal(r)
	}
	e := ownFault(r)
	if e.Code == CodeNotFound && v.started.Load() {
		e.Code = CodeExecutionFailed // a client may call again when no tool was found
	}
	return e
}

// about reports whether the registry made the reject for this tool.
func (v *invocation) about(r *spoke.Reject) bool {
	return r.Details["capability_id"] == v.definition.entry.ID()
}

// refusal is for a call that did not get as far as its arguments.
func (v *invocation) refusal(r *spoke.Reject) *Error {
	switch r.Kind() {
	case tools.KindNotFound:
		return errorf(CodeNotFound, "there is no tool %q", v.definition.id)
	case tools.KindDenied:
		return errorf(CodeExecutionDenied, "%s may not be called here", v.definition.id)
	case tools.KindUnavailable:
		return unavailable(v.definition.id, r)
	}
	return ownFault(r)
}

// unavailable carries the state that the probe told.
func unavailable(id string, r *spoke.Reject) *Error {
	state, _ := tools.AvailabilityOf(r)
	e := errorf(CodeUnavailable, "%s is not available", id)
	if state.Reason != "" {
		e.Message = state.Reason
	}
	if state.Code != "" {
		e.Code = Code(state.Code)
	}
	e.Retryable, e.Details = state.Retryable, appendState(nil, state)
	return e
}

// ownFault is for what the tool, or what stands around it, says of itself.
func ownFault(r *spoke.Reject) *Error {
	e := &Error{Code: CodeExecutionFailed, Message: r.Message, cause: r}
	details := r.Details
	if f, ok := tools.FailureOf(r); ok {
		e.Code, e.Message, e.Retryable, details = Code(f.Code), f.Message, f.Retryable, f.Details
	} else if r.Code != spoke.CodeInternalError {
		e.Code = Code(r.Code)
	} else {
		e.Retryable = r.Kind() == spoke.KindOverloaded || r.Kind() == spoke.KindTimeout
	}
	if len(details) > 0 {
		if raw, err := wirejson.Marshal(details); err == nil && jcs.Check(raw, maxValueDepth) == nil {
			e.Details = raw
		}
	}
	return e
}
