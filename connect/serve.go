package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// serve is steps 4 to 7 of serving a request that was verified: token, gate, handler,
// response. It runs on the reader up to the start of the handler's goroutine. Size is
// the frame's.
//
// Source: wire spec, section 5.
func (s *Session) serve(e *envelope, size int) {
	op, _ := e.text(fieldOp)
	if failure := s.authorize(e, op); failure != nil {
		s.deny(e, *failure)
		return
	}
	handle := s.dispatch(op)
	if handle == nil {
		s.missed()
		s.deny(e, unsupported(op))
		return
	}
	if s.repliesPileUp() {
		s.missed()
		s.deny(e, overloaded("the answers that wait are too large"))
		return
	}
	if s.draining.Load() != nil {
		s.deny(e, overloaded("this side is about to close the session"))
		return
	}
	if !s.serving.admit(size, &s.ep.Limits) {
		s.deny(e, overloaded("too many requests are being served"))
		return
	}
	s.misses = 0
	to, payload := echoOf(e), json.RawMessage(e.values[fieldPayload].Value)
	started := s.run(func() {
		defer s.endIfDrained()
		defer s.serving.leave(size)
		s.answer(to, op, handle, payload)
	})
	if !started {
		s.serving.leave(size)
	}
}

// handleFunc serves one request: canonical payload in, success payload out.
type handleFunc func(ctx context.Context, payload json.RawMessage) (any, error)

// dispatch is the gate: it returns what serves op if the capability that op requires
// was negotiated, else nil. An op that nobody gave a capability is never served. Whose
// tool a tool is, is asked on the handler's goroutine.
//
// Source: wire spec, section 5.
func (s *Session) dispatch(op string) handleFunc {
	if strings.HasPrefix(op, toolPrefix) {
		if !s.granted(op) || !manifest.ValidToolID(op) {
			return nil
		}
		return func(ctx context.Context, payload json.RawMessage) (any, error) {
			return s.serveTool(ctx, op, payload)
		}
	}
	if strings.HasPrefix(op, portPrefix) {
		return s.dispatchPort(op)
	}
	registered, ok := s.ep.ops[op]
	if !ok || !s.granted(registered.required()) {
		return nil
	}
	return registered.Handle
}

// dispatchPort asks whether the provider has the family of the port.
//
// Source: wire spec, section 7.
func (s *Session) dispatchPort(op string) handleFunc {
	row, ok := portOps[op]
	if !ok || !s.granted(row.required()) {
		return nil
	}
	handle, ok := row.handler(s.ep.Ports)
	if !ok {
		return nil
	}
	return handle
}

// serveTool unwraps the arguments, checks them and the result against the served
// descriptor, and wraps the result.
//
// Source: wire spec, section 6.
func (s *Session) serveTool(ctx context.Context, id string, payload json.RawMessage) (any, error) {
	handler, ok := s.tools.ToolHandler(id)
	if !ok {
		return nil, errNoHandler
	}
	args, ok := jcs.Get(payload, "arguments")
	if !ok || args.Value[0] != '{' {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "arguments must be a JSON object").WithDetail("field", "arguments")
	}
	schemas := s.ep.schemas[id]
	if schemas != nil {
		if err := schemas.ValidateArguments(args.Value); err != nil {
			return nil, err
		}
	}
	value, err := handler(ctx, args.Value)
	if err != nil {
		return nil, err
	}
	canonical, err := s.encodeResult(value, 2)
	if err != nil {
		return nil, err
	}
	if schemas != nil {
		if err := schemas.ValidateResult(canonical); err != nil {
			return nil, err
		}
	}
	return encoded(bytes.Join([][]byte{[]byte(`{"result":`), canonical, []byte(`}`)}, nil)), nil
}

// encoded is a success payload that is canonical already.
type encoded []byte

// encodeResult returns a handler's value as canonical JSON that stands inside open
// arrays and objects of its frame.
func (s *Session) encodeResult(value any, open int) ([]byte, error) {
	if done, ok := value.(encoded); ok {
		return done, nil
	}
	raw, err := wirejson.Raw(value)
	if err == nil {
		raw, err = jcs.CanonicalExact(raw, s.ep.Limits.Depth-open)
	}
	if err != nil {
		return nil, resultReject(err)
	}
	return raw, nil
}

// answer runs a handler and sends its response, also when the handler leaves its
// goroutine by runtime.Goexit.
func (s *Session) answer(to echo, op string, handle handleFunc, payload json.RawMessage) {
	var b body
	defer func() {
		if b.json == nil {
			b = s.failureBody(errHandler)
		}
		s.reply(to, b)
	}()
	b = s.respond(op, handle, payload)
}

// respond runs a handler and returns the body of its response. It contains whatever
// code of the application does on the way: a panic is a failure of this request, and
// its text stays in the log.
func (s *Session) respond(op string, handle handleFunc, payload json.RawMessage) (b body) {
	started := time.Now()
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("a handler panicked", "op", op, "panic", v, "stack", string(debug.Stack()))
			b = s.failureBody(errHandler)
		}
	}()
	success, err := s.runHandler(handle, payload)
	s.logServed(op, time.Since(started), err)
	switch {
	case err == nil:
		return body{signedSuccess, success}
	case errors.Is(err, errNoHandler):
		return body{signedFailure, s.failureJSON(unsupported(op))}
	default:
		return s.failureBody(err)
	}
}

// logServed tells metrics and log how a request was answered. A reject's text can quote
// the payload, so its code and kind have to do; any other error is the application's own
// and is seen nowhere else.
func (s *Session) logServed(op string, took time.Duration, err error) {
	code, kind := outcomeOK, ""
	switch {
	case err == nil:
	case errors.Is(err, errNoHandler):
		code = spoke.WireOpUnsupported
	default:
		reject := asReject(err)
		code, kind = string(reject.Code), reject.Kind()
	}
	s.ep.Metrics.Served(s.opLabel(op), code, took)
	_, meant := errors.AsType[*spoke.Reject](err)
	switch {
	case err == nil:
		s.log.Debug("served", "op", op, "code", code, "duration", took)
	case meant || errors.Is(err, errNoHandler):
		s.log.Debug("refused", "op", op, "code", code, "kind", kind, "duration", took)
	default:
		s.failed.log(func(n uint64) {
			s.log.Warn("a handler failed", "op", op, "code", code, "duration", took, "error", err, "count", n)
		})
	}
}

func (s *Session) runHandler(handle handleFunc, payload json.RawMessage) ([]byte, error) {
	value, err := handle(s.handlerCtx, payload)
	if err != nil {
		return nil, err
	}
	success, err := s.encodeResult(value, 1)
	if err == nil && len(success) > s.ep.Limits.FrameBytes-denialBytes {
		return nil, resultReject(errTooLarge)
	}
	return success, err
}
