package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/spoke"
)

// ErrSessionClosed is in the chain of every reject that a closed session gives.
var ErrSessionClosed = errors.New("session closed")

// Reasons for which a session ends by itself; [Session.Wait] returns them wrapped.
var (
	// ErrSequenceExhausted: the outbound counter is past 2^53−1.
	ErrSequenceExhausted = errors.New("sequence exhausted")
	// ErrOutOfStep: the peer's inbound counter and our outbound one differ for good.
	ErrOutOfStep = errors.New("peer did not accept a request's sequence or signature")
	// ErrMalformedFrame: the peer sent a frame that is not strict JSON, or too large.
	ErrMalformedFrame = errors.New("malformed frame")
	// ErrPeerNotReading: replies pile up, or a write did not finish in time.
	ErrPeerNotReading = errors.New("peer does not read")
	// ErrPeerSilent: nothing came from the peer for so long that it must be gone. A
	// transport that watches its peer returns it from Recv.
	ErrPeerSilent = errors.New("peer is silent")
)

// Reasons for which a [Server] ends a session or refuses one.
var (
	// ErrServerClosed: the server was shut down or closed.
	ErrServerClosed = errors.New("server closed")
	// ErrServerBusy: as many handshakes or sessions are under way as may be.
	ErrServerBusy = errors.New("server busy")
	// ErrPeerRemoved: the peer is not on the allowlist any more.
	ErrPeerRemoved = errors.New("peer removed from the allowlist")
	// ErrReplaced: the peer opened another session, which takes the place of this one.
	ErrReplaced = errors.New("replaced by a later session of the peer")
	// ErrNotProven: the peer opened a session and could sign nothing in it.
	ErrNotProven = errors.New("peer did not prove that it holds its key")
)

// Reasons for which a peer cannot be dialed now, or not by this dialer.
var (
	// ErrTryLater: the peer has no place now and asks to be dialed again later. A
	// transport returns it that can tell, as those of package connect/ws do.
	ErrTryLater = errors.New("the peer asks to be dialed again later")
	// ErrRefused: the peer hung up on one hello after the other without a word. It does
	// so with a peer that is not on its allowlist. A [Redialer] ends with it.
	ErrRefused = errors.New("the peer does not want this dialer")
)

// HandshakeKind tells apart the ways in which a handshake can fail.
type HandshakeKind string

// The kinds of wire spec, section 9.
const (
	HandshakeConfig          HandshakeKind = "config"
	HandshakeFailed          HandshakeKind = "handshake"
	HandshakeTimeout         HandshakeKind = "timeout"
	HandshakeVersionMismatch HandshakeKind = "protocol_version_mismatch"
)

// Codes of a [HandshakeError]: which check of the handshake failed. They are names
// for logs and tests; nothing of them is sent to the peer.
const (
	CodeVersionMismatch  = "protocol_version_mismatch"
	CodeInvalidNonce     = "invalid_nonce"
	CodeHandshakeFailed  = "handshake_failed"
	CodeHelloSignature   = "invalid_hello_signature"
	CodePeerNotAllowed   = "peer_not_allowed"
	CodeNonceReplayed    = "nonce_replayed"
	CodeMalformed        = "malformed"
	CodeInvalidSession   = "invalid_session"
	CodeManifestRefused  = "manifest_refused"
	CodeTransport        = "transport"
	CodeTimeout          = "timeout"
	CodeInvalidConfig    = "invalid_config"
	CodeCanceled         = "canceled"
	CodeNonceStoreFailed = "nonce_store_failed"
	CodeServerClosed     = "server_closed"
	CodeServerBusy       = "server_busy"
	CodeSecondSession    = "second_session"
	CodePenalty          = "penalty"
)

// HandshakeError is why [Dial] or [Accept] returned no session. The transport is
// closed by then.
//
// Source: wire spec, sections 4 and 9.
type HandshakeError struct {
	// Kind is one of the Handshake constants.
	Kind HandshakeKind
	// Code names the check that failed, one of the Code constants of this package. For a
	// session envelope that does not verify it is the kind, [spoke.KindEnvelopeAuthMissing]
	// or [spoke.KindEnvelopeAuthInvalid].
	Code string
	// Peer is the peer that was dialed, or the id that a dialer claimed, "" before
	// it claimed one. Unless the handshake got as far as the signature a dialer's id
	// is only a claim.
	Peer PeerID
	// Err says more; never nil.
	Err error
}

// Error implements error.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("connect: handshake failed (%s): %v", e.Code, e.Err)
}

// Unwrap returns Err.
func (e *HandshakeError) Unwrap() error { return e.Err }

// passes reports whether the peer may be welcome later.
func (e *HandshakeError) passes() bool {
	switch e.Code {
	case CodeServerBusy, CodeServerClosed, CodeSecondSession, CodePenalty:
		return true
	}
	return false
}

// refuse returns a handshake error of the kind that belongs to code.
func refuse(code, format string, args ...any) *HandshakeError {
	kind := HandshakeFailed
	switch code {
	case CodeInvalidConfig:
		kind = HandshakeConfig
	case CodeTimeout:
		kind = HandshakeTimeout
	case CodeVersionMismatch:
		kind = HandshakeVersionMismatch
	}
	return &HandshakeError{Kind: kind, Code: code, Err: fmt.Errorf(format, args...)}
}

// closedReject is what callers of a session that ended for cause get.
func closedReject(cause error) *spoke.Reject {
	err := ErrSessionClosed
	switch {
	case errors.Is(cause, ErrSessionClosed):
		err = cause
	case cause != nil:
		err = fmt.Errorf("%w: %w", ErrSessionClosed, cause)
	}
	return spoke.Rejectf(spoke.CodeInternalError, "%w", err).WithKind(spoke.KindSessionClosed).WithCause(err)
}

// timeoutReject is what a caller gets when no answer came in time.
func timeoutReject(op string) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInternalError, "no answer to %s in time", op).
		WithKind(spoke.KindTimeout).WithCause(context.DeadlineExceeded)
}

// contextReject is what a caller gets when its own context ended; see
// [Session.gaveUp].
func contextReject(ctx context.Context, op string) *spoke.Reject {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return timeoutReject(op)
	}
	return spoke.Rejectf(spoke.CodeInternalError, "the caller gave up on %s", op).
		WithKind(spoke.KindCanceled).WithCause(ctx.Err())
}

// transportReject is what a caller gets for a fault of the transport or an answer
// that cannot be decoded.
func transportReject(format string, args ...any) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInternalError, format, args...).WithKind(spoke.KindTransport)
}
