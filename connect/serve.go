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
	"github.com/spoke-peer/spoke-go/spoke"
)

// serve is steps 4 to 7 of serving a request that was verified: token, gate, handler,
// response. It runs on the reader up to the start of the handler's goroutine.
//
// Source: wire spec, section 5.
func (s *Session) serve(e *envelope) {
	op, _ := e.text(fieldOp)
	if e.present.has(fields(fieldAuth)) {
		s.deny(e, authFailed(spoke.KindTokenInvalid, "no issuer of capability tokens is trusted"))
		return
	}
	handle, ok := s.dispatch(op)
	if !ok {
		s.deny(e, wireError(spoke.WireOpUnsupported, "this session does not serve %s", op))
		return
	}
	if !s.admitHandler() {
		s.deny(e, overloaded("too many requests are being served"))
		return
	}
	to, payload := echoOf(e), json.RawMessage(e.values[fieldPayload].Value)
	started := s.run(func() {
		defer s.serving.Add(-1)
		s.answer(to, op, handle, payload)
	})
	if !started {
		s.serving.Add(-1)
	}
}

// admitHandler takes one of the session's places for handlers. Only the reader takes
// places, so the count cannot pass the limit.
func (s *Session) admitHandler() bool {
	if s.serving.Load() >= int64(s.ep.Limits.Handlers) {
		return false
	}
	s.serving.Add(1)
	return true
}

// handleFunc serves one request: canonical payload in, success payload out.
type handleFunc func(ctx context.Context, payload json.RawMessage) (any, error)

// dispatch is the gate: the capability that op requires was negotiated and a handler
// exists, else false. An op that nobody gave a capability is never served.
//
// Source: wire spec, section 5.
func (s *Session) dispatch(op string) (handleFunc, bool) {
	if strings.HasPrefix(op, toolPrefix) {
		return s.dispatchTool(op)
	}
	registered, ok := s.ep.ops[op]
	if !ok || !s.granted[registered.required()] {
		return nil, false
	}
	return registered.Handle, true
}

func (s *Session) dispatchTool(id string) (handleFunc, bool) {
	if !s.granted[id] {
		return nil, false
	}
	handler, ok := s.toolHandler(id)
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		return s.serveTool(ctx, id, handler, payload)
	}, true
}

func (s *Session) toolHandler(id string) (spoke.ToolHandler, bool) {
	s.mu.Lock()
	handler, ok := s.tools[id]
	s.mu.Unlock()
	if ok || s.ep.Tools == nil {
		return handler, ok
	}
	return s.ep.Tools.ToolHandler(id)
}

// serveTool unwraps the arguments, checks them and the result against the served
// descriptor, and wraps the result.
//
// Source: wire spec, section 6.
func (s *Session) serveTool(ctx context.Context, id string, handler spoke.ToolHandler, payload json.RawMessage) (any, error) {
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

// resultReject is what the caller sees when a handler's value cannot be sent.
func resultReject(err error) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInternalError, "the result cannot be sent").
		WithKind(spoke.KindResult).WithCause(err)
}

// answer runs a handler and sends its response, also when the handler leaves its
// goroutine by runtime.Goexit.
func (s *Session) answer(to echo, op string, handle handleFunc, payload json.RawMessage) {
	started := time.Now()
	body, err := []byte(nil), errHandler
	defer func() {
		if err == nil && len(body) > s.ep.Limits.FrameBytes-denialBytes {
			err = resultReject(errTooLarge)
		}
		s.logServed(op, time.Since(started), err)
		if err != nil {
			s.reply(to, signedFailure, failureJSON(asReject(err).Envelope()))
			return
		}
		s.reply(to, signedSuccess, body)
	}()
	body, err = s.runHandler(handle, payload)
}

func (s *Session) logServed(op string, took time.Duration, err error) {
	if err == nil {
		s.log.Debug("served", "op", op, "duration", took)
		return
	}
	s.log.Debug("refused", "op", op, "code", asReject(err).Code, "duration", took, "error", err)
}

var (
	errTooLarge = errors.New("larger than a frame")
	errHandler  = errors.New("the handler did not return")
)

// runHandler contains a handler's panic: it is a failure of this request, and its
// text stays in the log.
func (s *Session) runHandler(handle handleFunc, payload json.RawMessage) (body []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("a handler panicked", "panic", v, "stack", string(debug.Stack()))
			body, err = nil, errHandler
		}
	}()
	value, failure := handle(s.handlerCtx, payload)
	if failure != nil {
		return nil, failure
	}
	return s.encodeResult(value, 1)
}

// asReject returns what the caller sees for a handler's error: the reject in its
// chain, else INTERNAL_ERROR without the error's text.
func asReject(err error) *spoke.Reject {
	if reject, ok := errors.AsType[*spoke.Reject](err); ok && reject != nil {
		return reject
	}
	return spoke.Rejectf(spoke.CodeInternalError, "the handler failed")
}
