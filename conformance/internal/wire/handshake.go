package wire

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/manifest"
)

// Handshake is what the two sides said to each other.
type Handshake struct {
	Nonce      string // ours
	Mine       Frame  // our hello
	Hello      Frame  // the other peer's
	Session    Frame
	Negotiated []string // what both manifests list, in the responder's order
}

// Dial runs an initiator's honest handshake and judges what the responder answers.
func (p *Peer) Dial(ctx context.Context, host any) (*Handshake, error) {
	h := &Handshake{Nonce: uuid.NewString()}
	var err error
	if h.Mine, err = p.Hello(h.Nonce, "", host); err != nil {
		return nil, err
	}
	if err := p.Send(ctx, h.Mine); err != nil {
		return nil, fmt.Errorf("send the hello: %w", err)
	}
	if h.Hello, err = p.Recv(ctx); err != nil {
		return nil, fmt.Errorf("no hello: %w", err)
	}
	if err := p.checkHello(h.Hello, connect.ResponderRole, h.Nonce); err != nil {
		return nil, err
	}
	if h.Session, err = p.Recv(ctx); err != nil {
		return nil, fmt.Errorf("no session: %w", err)
	}
	h.Negotiated = manifest.Negotiate(Capabilities(h.Mine), Capabilities(h.Hello))
	return h, p.checkSession(h)
}

// Greet receives an initiator's hello and judges it.
func (p *Peer) Greet(ctx context.Context) (*Handshake, error) {
	hello, err := p.Recv(ctx)
	if err != nil {
		return nil, fmt.Errorf("no hello: %w", err)
	}
	h := &Handshake{Nonce: uuid.NewString(), Hello: hello}
	return h, p.checkHello(hello, connect.InitiatorRole, "")
}

// Accept runs a responder's honest handshake after [Peer.Greet].
func (p *Peer) Accept(ctx context.Context, h *Handshake, host any) error {
	var err error
	if h.Mine, err = p.Hello(h.Nonce, h.Hello.TextOf("nonce"), host); err != nil {
		return err
	}
	if err := p.Send(ctx, h.Mine); err != nil {
		return fmt.Errorf("send the hello: %w", err)
	}
	h.Negotiated = manifest.Negotiate(Capabilities(h.Hello), Capabilities(h.Mine))
	h.Session, err = p.SendSigned(ctx, p.Session(p.Remote, h.Negotiated))
	if err != nil {
		return fmt.Errorf("send the session: %w", err)
	}
	p.SessionID = h.Session.TextOf("session_id")
	return nil
}

// checkHello judges the other peer's hello and takes its peer id where none was given.
func (p *Peer) checkHello(hello Frame, role connect.HelloRole, nonce string) error {
	if p.Remote == "" {
		p.Remote = connect.PeerID(hello.TextOf("peer_id"))
	}
	key, err := p.Remote.PublicKey()
	if err != nil {
		return err
	}
	return connect.VerifyHello(hello.Text, connect.HelloCheck{Peer: p.Remote, Key: key, Role: role, Nonce: nonce})
}

// checkSession judges the session envelope of a responder.
func (p *Peer) checkSession(h *Handshake) error {
	p.SessionID = h.Session.TextOf("session_id")
	if err := p.VerifyBound(connect.SessionEnvelope, h.Session); err != nil {
		return fmt.Errorf("the session: %w", err)
	}
	first, ok := h.Session.Number("initial_sequence")
	switch {
	case p.SessionID == "":
		return fmt.Errorf("the session has no id")
	case !ok || first != 0:
		return fmt.Errorf("initial_sequence is %s", h.Session.Members["initial_sequence"])
	case h.Session.TextOf("initiator_peer_id") != string(p.ID.PeerID()), h.Session.TextOf("responder_peer_id") != string(p.Remote):
		return fmt.Errorf("the session is between other peers")
	}
	return nil
}

// Capabilities returns the capabilities in the manifest of a hello. A member of the wrong
// type counts as absent, and so does what is no text among them.
//
// Source: wire spec, section 4.
func Capabilities(hello Frame) []string {
	host, _, err := manifest.Decode(hello.Members["host"])
	if err != nil { // a host that is no object has none
		return nil
	}
	return host.Capabilities
}
