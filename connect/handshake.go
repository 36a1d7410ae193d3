package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/rfc3339"
)

// handshake is one handshake under way. Its context bounds all of it and closes the
// transport when it ends.
type handshake struct {
	ep        *endpoint
	transport Transport
	ctx       context.Context
	parent    context.Context

	// admit is asked by a responder about a peer that was verified, before it is
	// answered. Nil admits.
	admit func(PeerID) *HandshakeError
}

// established is what a finished handshake hands to the session.
type established struct {
	sessionID  string
	initiator  bool // this side dialed
	remote     *remote
	negotiated []string
	openedAt   time.Time
	challenge  string // id of the challenge that was sent, if one was
}

// runHandshake runs one side's half within the handshake timeout and closes the
// transport unless it succeeds.
func runHandshake(ctx context.Context, t Transport, ep *endpoint, half func(*handshake) (*established, *HandshakeError)) (*established, *HandshakeError) {
	bounded, cancel := context.WithTimeout(ctx, ep.HandshakeTimeout)
	defer cancel()
	h := &handshake{ep: ep, transport: t, ctx: bounded, parent: ctx}
	stop := context.AfterFunc(bounded, func() { closeFor(h.fault(bounded.Err()), t) })
	limitReads(t, ep.Limits.HandshakeFrameBytes)
	result, failure := half(h)
	if failure == nil && !stop() {
		failure = h.fault(bounded.Err())
	}
	if failure != nil {
		closeFor(failure, t)
		return nil, failure
	}
	limitReads(t, ep.Limits.FrameBytes)
	return result, nil
}

// fault returns the error of a transport that failed, which may be the end of the
// handshake's own time or of the caller's patience.
func (h *handshake) fault(err error) *HandshakeError {
	switch {
	case errors.Is(context.Cause(h.parent), ErrServerClosed):
		return refuse(CodeServerClosed, "%w", ErrServerClosed)
	case errors.Is(h.parent.Err(), context.Canceled):
		return refuse(CodeCanceled, "%w", context.Canceled)
	case h.ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded): // a transport's clock may be ahead
		return refuse(CodeTimeout, "the peer did not finish in time: %w", context.DeadlineExceeded)
	case errors.Is(err, ErrMalformedFrame): // a transport that judges sizes itself
		return refuse(CodeMalformed, "%w", err)
	default:
		return refuse(CodeTransport, "%w", err)
	}
}

func (h *handshake) send(frame []byte, err error) *HandshakeError {
	if err != nil {
		return refuse(CodeInvalidConfig, "%w", err)
	}
	if err := h.transport.Send(h.ctx, frame); err != nil {
		return h.fault(err)
	}
	return nil
}

func (h *handshake) receive(e *envelope) *HandshakeError {
	frame, err := h.transport.Recv(h.ctx)
	if err != nil {
		return h.fault(err)
	}
	if most := h.ep.Limits.HandshakeFrameBytes; len(frame) > most {
		return refuse(CodeMalformed, "a frame of %d bytes, at most %d allowed", len(frame), most)
	}
	if err := parseEnvelope(e, frame, h.ep.Limits.Depth); err != nil {
		return refuse(CodeMalformed, "%w", err)
	}
	return nil
}

// dial is the initiator's half: hello out, hello in, session in.
//
// Source: wire spec, section 4.
func (h *handshake) dial(check HelloCheck) (*established, *HandshakeError) {
	est, failure := h.greet(check)
	if failure != nil {
		failure.Peer = check.Peer
	}
	return est, failure
}

// greet is dial, for errors that do not name the peer.
func (h *handshake) greet(check HelloCheck) (*established, *HandshakeError) {
	check.Role, check.Nonce = ResponderRole, newNonce()
	hello, err := h.ep.helloFrame(check.Nonce, "")
	if failure := h.send(hello, err); failure != nil {
		return nil, failure
	}
	r, failure := h.receiveHello(check)
	if failure != nil {
		return nil, failure
	}
	var e envelope
	if failure := h.receive(&e); failure != nil {
		return nil, failure
	}
	return h.readSession(&e, r)
}

func (h *handshake) receiveHello(check HelloCheck) (*remote, *HandshakeError) {
	var e envelope
	if failure := h.receive(&e); failure != nil {
		return nil, failure
	}
	if failure := check.verify(&e); failure != nil {
		return nil, failure
	}
	return h.ep.acceptHello(&e, check, h.ep.Nonces)
}

// readSession judges the responder's session envelope.
func (h *handshake) readSession(e *envelope, r *remote) (*established, *HandshakeError) {
	if kind := e.verify(signedSession, r.key); kind != "" {
		return nil, refuse(kind, "session: %s", authMessages[kind])
	}
	id, ok := e.limitedText(fieldSessionID, maxIDLength)
	if !ok || id == "" {
		return nil, refuse(CodeInvalidSession, "session_id must have 1 to %d characters", maxIDLength)
	}
	initiator, _ := e.text(fieldInitiatorPeerID)
	responder, _ := e.text(fieldResponderPeerID)
	if PeerID(initiator) != h.ep.Identity.PeerID() || PeerID(responder) != r.peer {
		return nil, refuse(CodeInvalidSession, "the session is between other peers")
	}
	if first, ok := e.integer(fieldInitialSequence); !ok || first != 0 {
		return nil, refuse(CodeInvalidSession, "initial_sequence must be 0")
	}
	opened, err := readSnapshot(e)
	if err != nil {
		return nil, refuse(CodeInvalidSession, "%w", err)
	}
	h.warnKnownSession(r.peer, id)
	return &established{
		sessionID:  id,
		initiator:  true,
		remote:     r,
		negotiated: negotiate(h.ep.caps, r.capabilities),
		openedAt:   opened,
	}, nil
}

// readSnapshot judges the informative members of a session.
func readSnapshot(e *envelope) (time.Time, error) {
	text, _ := e.text(fieldOpenedAt)
	opened, err := rfc3339.Parse(text)
	if _, offset := opened.Zone(); err != nil || offset != 0 {
		return time.Time{}, fmt.Errorf("opened_at is not an RFC 3339 time in UTC")
	}
	if !uniqueTexts(e.values[fieldNegotiatedCapabilities].Value) {
		return time.Time{}, fmt.Errorf("negotiated_capabilities must be a non-empty list of unique strings")
	}
	return opened.UTC(), nil
}

// uniqueTexts reports whether raw is a list of at least one string and no two alike.
func uniqueTexts(raw json.RawMessage) bool {
	var texts []*string
	if json.Unmarshal(raw, &texts) != nil || len(texts) == 0 {
		return false
	}
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if text == nil || seen[*text] {
			return false
		}
		seen[*text] = true
	}
	return true
}

// warnKnownSession logs a session id that the peer gave out before: a request that
// was recorded in the other session could be played into this one.
//
// Source: wire spec, section 4.
func (h *handshake) warnKnownSession(peer PeerID, id string) {
	if fresh, _ := h.ep.Identity.met.sessions.Accept(peer, id); !fresh {
		h.ep.Logger.Warn("the peer reused a session id", "peer", peer, "session", id)
	}
}

// accept is the responder's half: hello in, hello out, session out.
//
// Source: wire spec, section 4.
func (h *handshake) accept() (*established, *HandshakeError) {
	var e envelope
	if failure := h.receive(&e); failure != nil {
		return nil, failure
	}
	claimed, ok := e.limitedText(fieldPeerID, maxPeerIDLength)
	if !ok {
		claimed = "" // nobody's; it would go into errors and logs
	}
	est, failure := h.answer(&e, PeerID(claimed))
	if failure != nil {
		failure.Peer, _ = ParsePeerID(claimed)
	}
	return est, failure
}

// answer judges the dialer's hello, gates first, and sends both answers.
func (h *handshake) answer(e *envelope, claimed PeerID) (*established, *HandshakeError) {
	if !h.ep.roster.allows(claimed) {
		return nil, refuse(CodePeerNotAllowed, "the peer is not on the allowlist")
	}
	if claimed == h.ep.Identity.PeerID() {
		return nil, refuse(CodePeerNotAllowed, "the peer claims this peer's own key")
	}
	key, err := h.ep.roster.keyOf(claimed)
	if err != nil {
		return nil, refuse(CodePeerNotAllowed, "no key for the peer: %w", err)
	}
	check := HelloCheck{Peer: claimed, Key: key, Role: InitiatorRole}
	if failure := check.verify(e); failure != nil {
		return nil, failure
	}
	r, failure := h.ep.acceptHello(e, check, h.ep.Nonces)
	if failure == nil && h.admit != nil {
		failure = h.admit(r.peer)
	}
	if failure != nil {
		return nil, failure
	}
	hello, err := h.ep.helloFrame(newNonce(), r.nonce)
	if failure := h.send(hello, err); failure != nil {
		return nil, failure
	}
	return h.openSession(r)
}

// openSession sends the session envelope under a fresh session id.
func (h *handshake) openSession(r *remote) (*established, *HandshakeError) {
	est := &established{
		sessionID:  uuid.NewString(),
		remote:     r,
		negotiated: negotiate(r.capabilities, h.ep.caps),
		openedAt:   time.Now().UTC().Truncate(time.Millisecond),
	}
	frame, err := h.ep.sessionFrame(est)
	if failure := h.send(frame, err); failure != nil {
		return nil, failure
	}
	return est, h.challenge(est)
}

// sessionFrame returns the signed session envelope.
func (ep *endpoint) sessionFrame(est *established) ([]byte, error) {
	snapshot := est.negotiated
	if len(snapshot) == 0 {
		snapshot = []string{CapabilityBaseline} // the wire wants one; it grants nothing
	}
	raw, err := json.Marshal(snapshot)
	if err != nil {
		return nil, err
	}
	capabilities, err := jcs.Canonical(raw)
	if err != nil {
		return nil, err
	}
	var e envelope
	e.set(fieldNegotiatedCapabilities, jcs.Literal(capabilities))
	e.setNumber(fieldInitialSequence, 0)
	err = errors.Join(
		e.setText(fieldSessionID, est.sessionID),
		e.setText(fieldInitiatorPeerID, string(est.remote.peer)),
		e.setText(fieldResponderPeerID, string(ep.Identity.PeerID())),
		e.setText(fieldOpenedAt, est.openedAt.Format(time.RFC3339Nano)),
	)
	if err != nil {
		return nil, err
	}
	return e.seal(nil, signedSession, ep.Identity)
}
