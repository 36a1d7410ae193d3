package connect

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Metrics gets what happens to sessions, for counters and latencies. Package
// connect/otelmetrics hands it to OpenTelemetry. Implementations are safe for concurrent
// use and return at once: sessions call them on their way.
//
// Every text is one of a bounded set, whatever a peer sends. An op is one of the
// protocol's, one that both manifests list or one of the application's, else "other".
type Metrics interface {
	// HandshakeRefused counts a handshake that failed; code is [HandshakeError.Code].
	HandshakeRefused(code string)
	// SessionOpened counts a session that was established.
	SessionOpened()
	// SessionClosed counts a session that ended after it lasted so long. Cause is
	// "closed" for our own Close, or one of "peer_left", "peer_silent",
	// "peer_not_reading", "malformed_frame", "out_of_step", "sequence_exhausted",
	// "server_closed", "peer_removed", "replaced", "not_proven", "transport".
	SessionClosed(cause string, lasted time.Duration)
	// Served counts a request of the peer's that was answered, took so long to serve.
	// Code is "ok" or the code of the error on the wire; a request that reached no
	// handler took 0.
	Served(op, code string, took time.Duration)
	// Invoked counts an invoke of ours. Code is "ok", the code of the peer's reject, or
	// the kind of a reject that was made on this side, such as "timeout".
	Invoked(op, code string, took time.Duration)
	// RepliesQueued says that so many more replies wait to be written, or fewer.
	RepliesQueued(change int)
}

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) HandshakeRefused(string)               {}
func (noMetrics) SessionOpened()                        {}
func (noMetrics) SessionClosed(string, time.Duration)   {}
func (noMetrics) Served(string, string, time.Duration)  {}
func (noMetrics) Invoked(string, string, time.Duration) {}
func (noMetrics) RepliesQueued(int)                     {}

const (
	outcomeOK = "ok"
	otherOp   = "other"
)

// outcomeOf names how an invoke of ours went.
func outcomeOf(reject *spoke.Reject) string {
	switch {
	case reject == nil:
		return outcomeOK
	case !reject.Remote() && reject.Kind() != "":
		return reject.Kind()
	default:
		return string(reject.Code)
	}
}

// opLabel is op, or "other" for one that a peer or a caller may have made up.
func (s *Session) opLabel(op string) string {
	if _, own := s.ep.ops[op]; own || s.granted(op) {
		return op
	}
	if _, known := RequiredCapability(op); known && !strings.HasPrefix(op, toolPrefix) {
		return op
	}
	return otherOp
}

// causeLabels name the errors for which a session ends, the first that fits.
var causeLabels = []struct {
	cause error
	label string
}{
	{ErrServerClosed, "server_closed"},
	{ErrPeerRemoved, "peer_removed"},
	{ErrReplaced, "replaced"},
	{ErrNotProven, "not_proven"},
	{ErrSequenceExhausted, "sequence_exhausted"},
	{ErrOutOfStep, "out_of_step"},
	{ErrMalformedFrame, "malformed_frame"},
	{ErrPeerNotReading, "peer_not_reading"},
	{ErrPeerSilent, "peer_silent"},
	{context.Canceled, "closed"},
	{io.EOF, "peer_left"},
}

func causeLabel(cause error) string {
	if cause == nil {
		return "closed"
	}
	for _, l := range causeLabels {
		if errors.Is(cause, l.cause) {
			return l.label
		}
	}
	return "transport"
}
