package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

var _ spoke.ToolInvoker = (*Session)(nil)

// Invoke asks the peer to run op with payload, a [json.RawMessage] as it is and
// anything else marshalled, and returns the success payload as canonical JSON. Whether
// the peer serves op is for the peer to say. Every failure is a [*spoke.Reject]:
//
//   - the peer's own answer: Remote reports true;
//   - INVALID_INPUT: the op or the payload cannot travel, or, of kind token_invalid, the
//     token; nothing was sent;
//   - INTERNAL_ERROR of kind timeout, canceled, session_closed, transport,
//     correlation_mismatch, sequence_exhausted, envelope_auth_* or, when there is no
//     token, token_invalid.
//
// Ctx bounds the wait, never the frame: a request that was sent stays sent.
//
// Source: wire spec, sections 5 and 9.
func (s *Session) Invoke(ctx context.Context, op string, payload any) (json.RawMessage, error) {
	if err := checkOp(op); err != nil {
		return nil, err
	}
	canonical, reject := s.encode("payload", payload, 1)
	if reject != nil {
		return nil, reject
	}
	return result(s.call(ctx, op, content{json: canonical}))
}

// InvokeTool runs a tool of the peer's; it implements [spoke.ToolInvoker]. Nil args
// mean {}. The peer serves a tool only if both manifests list its id among their
// capabilities. An id outside the grammar or longer than an op, or arguments that are not a
// JSON object that can travel exactly, fail at once with INVALID_INPUT and nothing is
// sent. For the rest it is [Session.Invoke].
//
// Source: wire spec, section 6.
func (s *Session) InvokeTool(ctx context.Context, capabilityID string, args any) (json.RawMessage, error) {
	if err := checkToolID(capabilityID); err != nil {
		return nil, err
	}
	payload, reject := s.toolPayload(args)
	if reject != nil {
		return nil, reject
	}
	answer, reject := s.call(ctx, capabilityID, payload)
	if reject != nil {
		return nil, reject
	}
	value, ok := jcs.Get(answer, "result")
	if !ok {
		return nil, transportReject("the answer to %s has no result", capabilityID)
	}
	return value.Value, nil
}

// checkOp refuses an op that cannot travel and a tool's outside the grammar.
func checkOp(op string) error {
	if op == "" || utf16Length(op) > maxOpLength || !validText(op) {
		return spoke.Rejectf(spoke.CodeInvalidInput, "op must have 1 to %d characters", maxOpLength)
	}
	if !strings.HasPrefix(op, toolPrefix) {
		return nil
	}
	return checkToolID(op)
}

// checkToolID refuses an id outside the grammar and one that is too long for an op.
func checkToolID(id string) error {
	if _, _, err := manifest.ParseToolID(id); err != nil {
		return err
	}
	if len(id) > maxOpLength {
		return spoke.Rejectf(spoke.CodeInvalidInput, "tool %.32s…: an op has at most %d characters", id, maxOpLength)
	}
	return nil
}

// noArguments is the payload of a tool without arguments.
var noArguments = content{"arguments", []byte("{}")}

// toolPayload returns {"arguments": args}.
func (s *Session) toolPayload(args any) (content, *spoke.Reject) {
	if raw, ok := args.(json.RawMessage); args == nil || ok && raw == nil {
		return noArguments, nil
	}
	canonical, reject := s.encode("arguments", args, 2)
	if reject != nil {
		return content{}, reject
	}
	if canonical[0] != '{' {
		return content{}, spoke.Rejectf(spoke.CodeInvalidInput, "arguments must be a JSON object").WithDetail(spoke.DetailField, "arguments")
	}
	return content{"arguments", canonical}, nil
}

// canonical returns v as canonical JSON that stands inside open arrays and objects of
// its frame, and refuses what would not arrive as it is.
func (s *Session) canonical(v any, open int) ([]byte, error) {
	raw, err := wirejson.Raw(v)
	if err != nil {
		return nil, err
	}
	return jcs.CanonicalExact(raw, s.ep.Limits.Depth-open)
}

// encode is canonical for what a caller sends.
func (s *Session) encode(what string, v any, open int) ([]byte, *spoke.Reject) {
	raw, err := s.canonical(v, open)
	if err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "%s: %w", what, err).WithDetail(spoke.DetailField, what)
	}
	return raw, nil
}

// result turns a nil reject into a nil error.
func result(value json.RawMessage, reject *spoke.Reject) (json.RawMessage, error) {
	if reject != nil {
		return nil, reject
	}
	return value, nil
}

// call sends one request and waits for its answer.
func (s *Session) call(ctx context.Context, op string, payload content) (json.RawMessage, *spoke.Reject) {
	started := time.Now()
	s.calling.Add(1)
	defer s.endIfDrained()
	defer s.calling.Add(-1)
	answer, reject := s.callPeer(ctx, op, payload)
	s.invoked(op, reject, time.Since(started))
	return answer, reject
}

// invoked tells metrics and log how an invoke of ours went.
func (s *Session) invoked(op string, reject *spoke.Reject, took time.Duration) {
	outcome := outcomeOf(reject)
	s.ep.Metrics.Invoked(s.opLabel(op), outcome, took)
	if s.logs(slog.LevelDebug) {
		s.log.Debug("invoked", "op", op, "code", outcome, "duration", took)
	}
}

func (s *Session) callPeer(ctx context.Context, op string, payload content) (json.RawMessage, *spoke.Reject) {
	p := s.newPatience(ctx, op)
	defer s.endPatience(&p)
	if ctx.Err() != nil {
		return nil, s.gaveUp(&p)
	}
	if reject := s.attachToken(&p); reject != nil {
		return nil, reject
	}
	if reject := s.ensurePossession(&p); reject != nil {
		return nil, reject
	}
	return s.roundTrip(&p, payload)
}

// roundTrip is call without the proof of possession.
func (s *Session) roundTrip(p *patience, payload content) (json.RawMessage, *spoke.Reject) {
	w, reject := s.sendRequest(p, payload)
	if reject != nil {
		return nil, reject
	}
	got, came := s.await(p, w)
	if !came {
		if mine, _ := s.takeWaiter(w.id); mine == nil {
			return nil, got.fault // somebody took the waiter and will send to it
		}
	}
	sequence := w.sequence
	s.recycle(w)
	if got.fault != nil {
		return nil, got.fault
	}
	defer envelopes.put(got.envelope)
	return s.settle(sequence, got.envelope)
}

// await waits for the answer. Came is false when the patience or the session ended first.
func (s *Session) await(p *patience, w *waiter) (got answer, came bool) {
	select {
	case got = <-w.answer:
		return got, true
	case <-p.ctx.Done():
	case <-p.expired:
	case <-s.ctx.Done():
	}
	select {
	case got = <-w.answer: // it came before the end
		return got, true
	default:
		return answer{fault: s.gaveUp(p)}, false
	}
}

// settle judges an answer: the echo, the signature, then what it says. A failure
// fails this invoke only.
//
// Source: wire spec, sections 5 and 9.
func (s *Session) settle(sequence uint64, e *envelope) (json.RawMessage, *spoke.Reject) {
	if repeated, _ := e.integer(fieldSequence); !e.textIs(fieldSessionID, s.id) || repeated != sequence {
		return nil, spoke.Rejectf(spoke.CodeInternalError, "the answer belongs to another request").
			WithKind(spoke.KindCorrelationMismatch)
	}
	shape := e.responseShape()
	if kind := e.verify(shape, s.key); kind != "" {
		return nil, authReject(kind)
	}
	s.possess.prove()
	if shape == signedSuccess {
		return compact(e.values[fieldPayload].Value, len(e.own)), nil
	}
	return nil, s.settleFailure(e)
}

// settleFailure reads a failure, and ends the session when the peer's counter did not
// move: no later request could be accepted.
//
// Source: wire spec, section 5.
func (s *Session) settleFailure(e *envelope) *spoke.Reject {
	var failure spoke.ErrorEnvelope
	if err := json.Unmarshal(e.values[fieldError].Value, &failure); err != nil || failure.Code == "" {
		return transportReject("the peer's error cannot be read: %w", cmp.Or(err, errNoCode))
	}
	reject := failure.Reject()
	outOfStep := failure.Code == spoke.WireInvalidSequence ||
		failure.Code == spoke.WireAuthFailed && isAuthKind(reject.Kind())
	if outOfStep {
		s.end(ErrOutOfStep)
	}
	return reject
}

var errNoCode = errors.New("no code")
