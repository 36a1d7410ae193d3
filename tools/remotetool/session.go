package remotetool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// OverSession returns a carrier that sends requests inside a SPOKE session, to a peer
// that serves [Ops]. S is a [connect.Session], or what reaches one: a [connect.Redialer],
// or a [connect.Router] that knows [RouterOps]. Answers that inflate to more than
// maxInflated bytes fail; zero means [DefaultInflatedBytes].
//
// Where the peer's session answers in the provider's place, [CodeExecutionDenied] and
// [CodeOverloaded] say that nothing ran, [CodeResultSchemaInvalid] that the calls were
// made and their answer cannot be sent. [CodeExecutionFailed] leaves open how far the
// request got.
//
// Source: remote tool spec, section 11.
func OverSession(s connect.Invoker, maxInflated int) Carrier {
	orDefault(&maxInflated, DefaultInflatedBytes)
	return &sessionCarrier{s, maxInflated}
}

type sessionCarrier struct {
	session     connect.Invoker
	maxInflated int
}

func (c *sessionCarrier) request(ctx context.Context, kind string, payload json.RawMessage, seen func(answer)) (answer, error) {
	reply, err := c.invoke(ctx, kind, payload)
	if err != nil {
		return answer{}, err
	}
	m, err := membersOf(reply)
	if err != nil {
		return answer{}, errorf(CodeProtocol, "the answer cannot be read: %w", err)
	}
	got := answer{payload: present(m["payload"])}
	got.kind, _ = textOf(m["type"])
	if got.payload, err = unwrap(got.payload, c.maxInflated); err != nil {
		return answer{}, err
	}
	if seen != nil {
		seen(got)
	}
	return got, nil
}

// invoke lets ctx alone bound the wait.
func (c *sessionCarrier) invoke(ctx context.Context, op string, payload any) (json.RawMessage, error) {
	reply, err := c.session.Invoke(connect.WithInvokeTimeout(ctx, -1), op, payload)
	if err == nil {
		return reply, nil
	}
	return nil, sessionError(ctx, op, err)
}

// sessionError says in this protocol's words why an invoke failed.
func sessionError(ctx context.Context, op string, err error) *Error {
	r, ok := errors.AsType[*spoke.Reject](err)
	switch {
	case ok && r.Remote():
		return peerError(op, r)
	case ctx.Err() != nil:
		return contextError(ctx)
	case !ok || errors.Is(err, connect.ErrSessionClosed):
		return errorf(CodeClosed, "the session has ended: %w", err)
	case r.Kind() == spoke.KindNoCapablePeer:
		return errorf(CodeExecutionDenied, "the request was not sent: %w", err)
	case r.Code == spoke.CodeInvalidInput:
		return errorf(CodeInvalidRequest, "the request was not sent: %w", err)
	}
	return errorf(CodeProtocol, "the invoke failed: %w", err)
}

// peerError reads what the peer's session answered in the place of its provider.
func peerError(op string, r *spoke.Reject) *Error {
	e := &Error{Code: CodeExecutionFailed, Message: "the request failed: " + r.Message, remote: true, cause: r}
	switch {
	case refusedUnserved(r):
		e.Code, e.Message = CodeExecutionDenied, "the peer refused: "+r.Message
		if op == opFrame {
			e.Code = CodeStreamUnsupported
		}
	case r.Kind() == spoke.KindOverloaded:
		e.Code, e.Retryable = CodeOverloaded, true
	case op == opFrame:
		e.Code = CodeStream
	case r.Kind() == spoke.KindResult && op != TypeQuery:
		e.Code, e.Message = CodeResultSchemaInvalid, "the calls were made: "+r.Message
	}
	return e
}

// refusedUnserved reports the rejects of a session that come before a handler runs.
//
// Source: wire spec, section 5.
func refusedUnserved(r *spoke.Reject) bool {
	switch r.Kind() {
	case spoke.KindTokenInvalid, spoke.KindEnvelopeAuthMissing, spoke.KindEnvelopeAuthInvalid,
		spoke.KindEnvelopeAuthSessionUnbound, spoke.KindNoCapablePeer:
		return true
	}
	return r.Code == spoke.CodeCapabilityPortMissing || r.WireCode() == spoke.WireInvalidSequence
}

func (c *sessionCarrier) expect(a Announcement, sink io.Writer, options *ReceiveOptions) (incoming, error) {
	r, err := newReceiver(a, sink, options)
	if err != nil {
		return nil, err
	}
	return &fetch{c, r}, nil
}

// fetch pulls the frames of one file.
type fetch struct {
	carrier  *sessionCarrier
	receiver *receiver
}

func (t *fetch) wait(ctx context.Context) (int64, error) {
	for {
		f, err := t.next(ctx)
		if err != nil {
			return t.receiver.offset, err
		}
		if last, err := t.receiver.accept(f); last || err != nil {
			return t.receiver.offset, err
		}
	}
}

func (t *fetch) next(ctx context.Context) (frame, error) {
	reply, err := t.carrier.invoke(ctx, opFrame, map[string]string{"transferId": t.receiver.announcement.TransferID})
	if err != nil {
		return frame{}, err
	}
	m, _ := membersOf(reply)
	text, _ := textOf(m["frame"])
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return frame{}, errorf(CodeStream, "the transfer is broken: %w", err)
	}
	f, err := parseFrame(b)
	if err == nil && f.id != t.receiver.announcement.TransferID {
		err = errors.New("a frame of another transfer")
	}
	if err != nil {
		return frame{}, errorf(CodeStream, "the transfer is broken: %w", err)
	}
	return f, nil
}
