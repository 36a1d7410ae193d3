package connect

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// EnvelopeKind is one of the four signed envelopes.
type EnvelopeKind int

// The signed envelopes of wire spec, section 3. A hello with peer_nonce is the
// responder's; a response with error is a failure.
const (
	HelloEnvelope EnvelopeKind = iota + 1
	SessionEnvelope
	RequestEnvelope
	ResponseEnvelope
)

// Algorithm returns the name under which the protocol knows the signature.
func (k EnvelopeKind) Algorithm() string {
	switch k {
	case HelloEnvelope:
		return "spoke-connect-hello-jcs-v1"
	case SessionEnvelope:
		return "spoke-connect-session-jcs-v1"
	case RequestEnvelope:
		return "spoke-connect-invoke-request-jcs-v1"
	case ResponseEnvelope:
		return "spoke-connect-invoke-response-jcs-v1"
	default:
		return "unknown"
	}
}

// shapeOf returns the signed keys that an envelope of this kind claims to have.
func (k EnvelopeKind) shapeOf(e *envelope) (fieldSet, error) {
	switch k {
	case HelloEnvelope:
		if e.present.has(fields(fieldPeerNonce)) {
			return signedHelloBack, nil
		}
		return signedHello, nil
	case SessionEnvelope:
		return signedSession, nil
	case RequestEnvelope:
		return signedRequest, nil
	case ResponseEnvelope:
		return e.responseShape(), nil
	default:
		return 0, fmt.Errorf("connect: unknown envelope kind %d", k)
	}
}

// Canonicalize returns the RFC 8785 form of a JSON document. It refuses what a
// session refuses in a frame: invalid UTF-8, duplicate names, lone surrogates and
// numbers outside the double range. A document that is canonical already is handed
// back as it is, not copied.
//
// Source: wire spec, sections 1 and 3.
func Canonicalize(document json.RawMessage) (json.RawMessage, error) {
	return jcs.Canonical(document)
}

// SignedBytes returns the text that the signature of an envelope covers: the
// canonical form of its signed members. A missing member is an error.
func SignedBytes(kind EnvelopeKind, document json.RawMessage) ([]byte, error) {
	e, shape, err := parseAs(kind, document)
	if err != nil {
		return nil, err
	}
	return e.appendSigned(nil, e.signedSet(shape))
}

// SignEnvelope returns document as a signed envelope with empty extensions. Members
// that are not signed are left out; a missing one is an error. Nothing else about the
// members is judged, so that test vectors can be made with it.
func (i *Identity) SignEnvelope(kind EnvelopeKind, document json.RawMessage) (json.RawMessage, error) {
	e, shape, err := parseAs(kind, document)
	if err != nil {
		return nil, err
	}
	return e.seal(nil, shape, i)
}

func parseAs(kind EnvelopeKind, document json.RawMessage) (*envelope, fieldSet, error) {
	e := new(envelope)
	if err := parseEnvelope(e, document, 0); err != nil {
		return nil, 0, err
	}
	shape, err := kind.shapeOf(e)
	if err != nil {
		return nil, 0, err
	}
	if missing := shape &^ e.present; missing != 0 {
		return nil, 0, fmt.Errorf("connect: %s lacks %s", kind.Algorithm(), missing)
	}
	return e, shape, nil
}

// VerifyEnvelope judges a session, request or response envelope: its signature by
// key, its members, and that it is bound to sessionID. A failure is a [*spoke.Reject]
// whose kind is one of the envelope_auth kinds.
//
// Source: wire spec, section 3.
func VerifyEnvelope(kind EnvelopeKind, document json.RawMessage, key ed25519.PublicKey, sessionID string) error {
	var e envelope
	if err := parseEnvelope(&e, document, 0); err != nil {
		return authReject(spoke.KindEnvelopeAuthInvalid).WithCause(err)
	}
	shape, err := kind.shapeOf(&e)
	if err != nil || kind == HelloEnvelope || len(key) != ed25519.PublicKeySize {
		return authReject(spoke.KindEnvelopeAuthInvalid).WithCause(err)
	}
	if failure := e.verifyBound(shape, key, sessionID); failure != "" {
		return authReject(failure)
	}
	return nil
}

// authReject is what a caller sees when an envelope does not verify.
func authReject(kind string) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInternalError, "%s", authMessages[kind]).WithKind(kind)
}

var authMessages = map[string]string{
	spoke.KindEnvelopeAuthMissing:        "the envelope is not signed",
	spoke.KindEnvelopeAuthInvalid:        "the envelope's signature or its members are not valid",
	spoke.KindEnvelopeAuthSessionUnbound: "the envelope belongs to another session",
}
