package connect

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// request is one that a handler serves: what its response repeats, and its payload. They
// may alias the frame. The zero request is none.
type request struct {
	echo    echo
	service service
	payload json.RawMessage
	size    int // of the frame; never 0
}

// service is what serves an op. The zero service serves nothing.
type service struct {
	op     string
	handle handleFunc // nil for a tool, which is looked up when it runs
}

// handleFunc serves one request: canonical payload in, success payload out.
type handleFunc func(ctx context.Context, payload json.RawMessage) (any, error)

// admit is steps 4 and 5 of serving a request that was verified: token and gate. It runs
// on the reader and never waits. Size is the frame's.
//
// Source: wire spec, section 5.
func (s *Session) admit(e *envelope, size int) (r request) {
	op := s.opText(e.bytesOf(fieldOp))
	if failure := s.authorize(e, op); failure != nil {
		s.missed()
		s.deny(e, *failure)
		return r
	}
	serves, ok := s.dispatch(op)
	switch {
	case !ok:
		s.missed()
		s.deny(e, unsupported(op))
	case s.repliesPileUp():
		s.missed()
		s.deny(e, overloaded("the answers that wait are too large"))
	case s.draining.Load() != nil:
		s.deny(e, overloaded("this side is about to close the session"))
	case !s.serving.admit(size, &s.ep.Limits):
		s.deny(e, overloaded("too many requests are being served"))
	default:
		s.misses = 0
		return request{echoOf(e), serves, compact(e.values[fieldPayload].Value, size), size}
	}
	return r
}

// opText returns text as a string, without a copy if it is one of few that were
// negotiated.
func (s *Session) opText(text []byte) string {
	if s.grants == nil {
		for _, capability := range s.caps {
			if string(text) == capability {
				return capability
			}
		}
	}
	return string(text)
}

// dispatch is the gate: it returns what serves op if the capability that op requires
// was negotiated. An op that nobody gave a capability is never served. Whose tool a tool
// is, is asked when it runs.
//
// Source: wire spec, section 5.
func (s *Session) dispatch(op string) (service, bool) {
	if strings.HasPrefix(op, toolPrefix) {
		return service{op: op}, s.granted(op) && manifest.ValidToolID(op)
	}
	if strings.HasPrefix(op, portPrefix) {
		return s.dispatchPort(op)
	}
	registered, ok := s.ep.ops[op]
	return service{op, registered.Handle}, ok && s.granted(registered.required())
}

// dispatchPort asks whether the provider has the family of the port.
//
// Source: wire spec, section 7.
func (s *Session) dispatchPort(op string) (service, bool) {
	row, ok := portOps[op]
	if !ok || !s.granted(row.required()) {
		return service{}, false
	}
	handle, ok := row.handler(s.ep.Ports)
	return service{op, handle}, ok
}

// serveTool unwraps the arguments, checks them and the result against the served
// descriptor, and wraps the result.
//
// Source: wire spec, section 6.
func (s *Session) serveTool(ctx context.Context, id string, payload json.RawMessage) (result content, err error) {
	handler, ok := s.tools.ToolHandler(id)
	if !ok {
		return result, errNoHandler
	}
	args, ok := jcs.Get(payload, "arguments")
	if !ok || args.Value[0] != '{' {
		return result, spoke.Rejectf(spoke.CodeInvalidInput, "arguments must be a JSON object").WithDetail(spoke.DetailField, "arguments")
	}
	schemas := s.ep.schemas[id]
	if schemas != nil {
		if err := schemas.ValidateArguments(args.Value); err != nil {
			return result, err
		}
	}
	value, err := handler(ctx, args.Value)
	if err != nil {
		return result, err
	}
	canonical, err := s.encodeResult(value, 2)
	if err == nil && schemas != nil {
		err = schemas.ValidateResult(canonical)
	}
	return content{"result", canonical}, err
}

// encodeResult is canonical for a handler's value.
func (s *Session) encodeResult(value any, open int) ([]byte, error) {
	raw, err := s.canonical(value, open)
	if err != nil {
		return nil, resultReject(err)
	}
	return raw, nil
}

// answer is steps 6 and 7 of serving: it runs the handler and sends the response, also
// when the handler leaves its goroutine by runtime.Goexit.
//
// Source: wire spec, section 5.
func (s *Session) answer(r *request) {
	var b body
	defer func() {
		if b.json == nil {
			b = s.failureBody(errHandler)
		}
		s.reply(r.echo, b)
		s.serving.leave(r.size)
		s.endIfDrained()
	}()
	b = s.respond(r)
}

// respond runs a handler and returns the body of its response. It contains whatever
// code of the application does on the way: a panic is a failure of this request, and
// its text stays in the log.
func (s *Session) respond(r *request) (b body) {
	started, told := time.Now(), false
	tell := func(code string) {
		if !told {
			told = true
			s.ep.Metrics.Served(s.opLabel(r.service.op), code, time.Since(started))
		}
	}
	defer func() {
		if v := recover(); v != nil {
			s.panicked.log(func(n uint64) {
				s.log.Error("a handler panicked", "op", r.service.op, "panic", v, "stack", string(debug.Stack()), "count", n)
			})
			b = s.failureBody(errHandler)
		}
		tell(string(spoke.CodeInternalError)) // also of a handler that left its goroutine
	}()
	success, err := s.runHandler(r)
	if err == nil {
		tell(outcomeOK)
		if s.logs(slog.LevelDebug) {
			s.log.Debug("served", "op", r.service.op, "code", outcomeOK, "duration", time.Since(started))
		}
		return body{signedSuccess, success}
	}
	failure := failureOf(r.service.op, err)
	tell(failure.Code)
	s.logFailure(r.service.op, failure, time.Since(started), err)
	return body{signedFailure, content{json: s.failureJSON(failure)}}
}

// failureOf is what the caller sees of a handler's error.
func failureOf(op string, err error) spoke.ErrorEnvelope {
	if errors.Is(err, errNoHandler) {
		return unsupported(op)
	}
	return asReject(err).Envelope()
}

// logFailure logs why a request was refused. A reject's text can quote the payload, so its
// code and kind have to do; any other error is the application's own and is seen nowhere
// else.
func (s *Session) logFailure(op string, failure spoke.ErrorEnvelope, took time.Duration, err error) {
	if _, meant := errors.AsType[*spoke.Reject](err); meant || errors.Is(err, errNoHandler) {
		s.log.Debug("refused", "op", op, "code", failure.Code, "kind", asReject(err).Kind(), "duration", took)
		return
	}
	s.failed.log(func(n uint64) {
		s.log.Warn("a handler failed", "op", op, "code", failure.Code, "duration", took, "error", err, "count", n)
	})
}

// logs reports whether the log takes lines of a level: the arguments of one that is
// dropped cost memory.
func (s *Session) logs(level slog.Level) bool { return s.log.Enabled(s.ctx, level) }

// runHandler returns the success payload of a request.
func (s *Session) runHandler(r *request) (success content, err error) {
	if r.service.handle == nil {
		success, err = s.serveTool(s.handlerCtx, r.service.op, r.payload)
	} else {
		success, err = s.serveOp(r)
	}
	if err == nil && success.size() > s.ep.Limits.FrameBytes-denialBytes {
		return success, resultReject(errTooLarge)
	}
	return success, err
}

func (s *Session) serveOp(r *request) (success content, err error) {
	value, err := r.service.handle(s.handlerCtx, r.payload)
	if err != nil {
		return success, err
	}
	success.json, err = s.encodeResult(value, 1)
	return success, err
}
