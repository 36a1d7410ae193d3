package connect

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// protocolVersion is the version of the hello.
const protocolVersion = 1

// HelloRole says which side's hello is expected.
type HelloRole int

const (
	// EitherRole accepts a hello of both sides; the zero value.
	EitherRole HelloRole = iota
	// InitiatorRole accepts only a hello without peer_nonce.
	InitiatorRole
	// ResponderRole accepts only a hello that answers the nonce of ours.
	ResponderRole
)

// HelloCheck is what a hello is judged against.
type HelloCheck struct {
	// Peer is the expected sender and Key the key to verify by.
	Peer PeerID
	Key  ed25519.PublicKey
	// Role is the side that the hello must be of; Nonce is our own, which a
	// responder's hello must repeat.
	Role  HelloRole
	Nonce string
}

// VerifyHello judges a signed hello. A failure is a [*HandshakeError] whose Code says
// which check was the first to fail. Allowlists and nonce replay are not its matter.
//
// Source: wire spec, section 4.
func VerifyHello(document json.RawMessage, check HelloCheck) error {
	var e envelope
	if err := parseEnvelope(&e, document, 0); err != nil {
		return refuse(CodeMalformed, "%w", err)
	}
	if err := check.verify(&e); err != nil {
		return err
	}
	return nil
}

// verify runs the checks of wire spec, section 4, in its order.
func (c HelloCheck) verify(e *envelope) *HandshakeError {
	for _, step := range []func(*envelope) *HandshakeError{
		c.version, c.nonces, c.sender, c.role, c.signature, c.host,
	} {
		if err := step(e); err != nil {
			return err
		}
	}
	return nil
}

func (c HelloCheck) version(e *envelope) *HandshakeError {
	version, ok := e.integer(fieldProtocolVersion)
	if !ok || version != protocolVersion {
		return refuse(CodeVersionMismatch, "the peer speaks protocol version %s, this library speaks %d",
			describe(e.values[fieldProtocolVersion]), protocolVersion)
	}
	return nil
}

func (c HelloCheck) nonces(e *envelope) *HandshakeError {
	for _, f := range []field{fieldNonce, fieldPeerNonce} {
		if f == fieldPeerNonce && !e.present.has(fields(f)) {
			continue
		}
		nonce, ok := e.limitedText(f, maxNonceLength)
		if !ok || utf16Length(nonce) < minNonceLength {
			return refuse(CodeInvalidNonce, "%s must have %d to %d characters", fieldNames[f], minNonceLength, maxNonceLength)
		}
	}
	return nil
}

func (c HelloCheck) sender(e *envelope) *HandshakeError {
	if id, err := NewPeerID(c.Key); err != nil || id != c.Peer {
		return refuse(CodeHandshakeFailed, "the verify key does not belong to %s", c.Peer)
	}
	if claimed, ok := e.text(fieldPeerID); !ok || PeerID(claimed) != c.Peer {
		return refuse(CodeHandshakeFailed, "the hello is not from %s", c.Peer)
	}
	return nil
}

func (c HelloCheck) role(e *envelope) *HandshakeError {
	answered, hasNonce := e.text(fieldPeerNonce)
	switch {
	case c.Role == InitiatorRole && hasNonce:
		return refuse(CodeHandshakeFailed, "a dialer's hello must not carry peer_nonce")
	case c.Role == ResponderRole && !hasNonce:
		return refuse(CodeHandshakeFailed, "the hello does not answer our nonce")
	case c.Role == ResponderRole && answered != c.Nonce:
		return refuse(CodeHandshakeFailed, "the hello answers another nonce")
	}
	return nil
}

func (c HelloCheck) signature(e *envelope) *HandshakeError {
	shape, _ := HelloEnvelope.shapeOf(e)
	if kind := e.verify(shape, c.Key); kind != "" {
		return refuse(CodeHelloSignature, "%s", authMessages[kind])
	}
	return nil
}

// host is an object; what else is wrong with it does not fail the handshake.
func (c HelloCheck) host(e *envelope) *HandshakeError {
	if e.values[fieldHost].Value[0] != '{' {
		return refuse(CodeHandshakeFailed, "host must be an object")
	}
	return nil
}

// describe shows a member of a peer's in an error, cut short.
func describe(m jcs.Member) string {
	const most = 32
	switch {
	case len(m.Value) == 0:
		return "(none)"
	case len(m.Value) > most:
		return string(m.Value[:most]) + "…"
	default:
		return string(m.Value)
	}
}

// helloFrame returns this side's signed hello. An empty peerNonce makes a dialer's.
func (ep *endpoint) helloFrame(nonce, peerNonce string) ([]byte, error) {
	var e envelope
	shape := signedHello
	e.setNumber(fieldProtocolVersion, protocolVersion)
	e.set(fieldHost, jcs.Literal(ep.host))
	err := errors.Join(
		e.setText(fieldPeerID, string(ep.Identity.PeerID())),
		e.setText(fieldNonce, nonce),
	)
	if peerNonce != "" {
		shape = signedHelloBack
		err = errors.Join(err, e.setText(fieldPeerNonce, peerNonce))
	}
	if err != nil {
		return nil, err
	}
	return e.seal(nil, shape, ep.Identity)
}

// remote is what a peer's verified hello says.
type remote struct {
	peer     PeerID
	key      ed25519.PublicKey
	nonce    string
	host     json.RawMessage // canonical; keeps no other memory of the frame
	problems []manifest.Problem

	capabilities []string // for the negotiation, nil after it
	decoded      atomic.Pointer[spoke.HostCapabilityManifest]
}

// manifest returns the decoded host. Most sessions never ask, so it is made when
// somebody does.
func (r *remote) manifest() *spoke.HostCapabilityManifest {
	if m := r.decoded.Load(); m != nil {
		return m
	}
	m, _, _ := manifest.Decode(r.host) // it was decoded before; it cannot fail
	r.decoded.CompareAndSwap(nil, &m)
	return r.decoded.Load()
}

// acceptHello reads a verified hello and records its nonce.
func (ep *endpoint) acceptHello(e *envelope, check HelloCheck, nonces NonceStore) (*remote, *HandshakeError) {
	r := &remote{peer: check.Peer, key: check.Key, host: bytes.Clone(e.values[fieldHost].Value)}
	r.nonce, _ = e.text(fieldNonce)
	found, err := ep.Identity.met.manifests.peer(r.host)
	if err != nil {
		return nil, refuse(CodeHandshakeFailed, "host: %w", err)
	}
	r.capabilities, r.problems = found.capabilities, found.problems
	if ep.RefuseImperfectManifest && len(r.problems) > 0 {
		return nil, refuse(CodeManifestRefused, "the peer's manifest: %w", manifest.Err(r.problems))
	}
	switch fresh, err := nonces.Accept(r.peer, r.nonce); {
	case err != nil:
		return nil, refuse(CodeNonceStoreFailed, "nonce store: %w", err)
	case !fresh:
		return nil, refuse(CodeNonceReplayed, "this hello was accepted before")
	}
	return r, nil
}
