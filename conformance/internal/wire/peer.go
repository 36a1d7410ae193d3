// Package wire is a peer that is driven by hand: it finishes a handshake honestly or
// not, and then sends and reads envelopes frame by frame. The conformance runners use
// it at the other end of the peer that they judge.
package wire

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/connect"
)

// Object is a JSON object that is put together member by member. Members that are
// [json.RawMessage] keep their spelling.
type Object = map[string]any

// Peer is one end of a transport. It is for one goroutine.
type Peer struct {
	ID        *connect.Identity
	Transport connect.Transport
	// Remote is the other peer; the handshake sets it when it is empty.
	Remote connect.PeerID
	// SessionID is the session's id once the handshake is done.
	SessionID string
	// Next is the sequence of this peer's next honest request.
	Next uint64
	// Serve answers a request of the other peer's while this one waits for an
	// answer; nil denies every op.
	Serve func(ctx context.Context, request Frame) error

	early    map[string]Frame // answers that came before somebody waited
	requests []Frame          // what the other peer asked so far
}

// Sign returns doc as a signed envelope with empty extensions. Every member of doc is
// signed, whatever the envelope's shape, and keeps its spelling.
func Sign(id *connect.Identity, doc Object) (Frame, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return Frame{}, err
	}
	signed, err := connect.Canonicalize(text)
	if err != nil {
		return Frame{}, err
	}
	members, err := membersOf(text)
	if err != nil {
		return Frame{}, err
	}
	members["signature"] = quote(encode(id.Sign(signed)))
	members["extensions"] = json.RawMessage(`{}`)
	return frameOf(members)
}

// Hello returns a signed hello. An empty peerNonce makes a dialer's.
func (p *Peer) Hello(nonce, peerNonce string, host any) (Frame, error) {
	doc := Object{"protocol_version": 1, "peer_id": p.ID.PeerID(), "nonce": nonce, "host": host}
	if peerNonce != "" {
		doc["peer_nonce"] = peerNonce
	}
	return Sign(p.ID, doc)
}

// Session returns a signed session envelope of a responder for initiator.
func (p *Peer) Session(initiator connect.PeerID, capabilities []string) Object {
	if len(capabilities) == 0 {
		capabilities = []string{connect.CapabilityBaseline}
	}
	return Object{
		"session_id": uuid.NewString(), "initiator_peer_id": initiator, "responder_peer_id": p.ID.PeerID(),
		"opened_at": "2026-01-01T00:00:00Z", "negotiated_capabilities": capabilities, "initial_sequence": 0,
	}
}

// Request returns an unsigned request at sequence.
func (p *Peer) Request(sequence uint64, op string, payload any) Object {
	return Object{"session_id": p.SessionID, "sequence": sequence, "request_id": uuid.NewString(), "op": op, "payload": payload}
}

// Send writes a frame.
func (p *Peer) Send(ctx context.Context, f Frame) error { return p.Transport.Send(ctx, f.Text) }

// SendSigned signs doc and writes it.
func (p *Peer) SendSigned(ctx context.Context, doc Object) (Frame, error) {
	f, err := Sign(p.ID, doc)
	if err != nil {
		return f, err
	}
	return f, p.Send(ctx, f)
}

// Recv returns the next frame.
func (p *Peer) Recv(ctx context.Context) (Frame, error) {
	text, err := p.Transport.Recv(ctx)
	if err != nil {
		return Frame{}, err
	}
	return Parse(text)
}

// Call sends an honest request and returns its answer.
func (p *Peer) Call(ctx context.Context, op string, payload any) (Frame, error) {
	request, err := p.SendSigned(ctx, p.Request(p.Next, op, payload))
	if err != nil {
		return Frame{}, err
	}
	p.Next++
	return p.Answer(ctx, request)
}

// Answer returns the answer to a request of this peer's, whatever it is worth, and
// serves the other peer's requests meanwhile.
func (p *Peer) Answer(ctx context.Context, request Frame) (Frame, error) {
	id := request.TextOf("request_id")
	for {
		if f, ok := p.early[id]; ok {
			delete(p.early, id)
			return f, nil
		}
		if err := p.step(ctx); err != nil {
			return Frame{}, fmt.Errorf("no answer: %w", err)
		}
	}
}

// Early reports whether an answer to request came and was not taken.
func (p *Peer) Early(request Frame) bool {
	_, ok := p.early[request.TextOf("request_id")]
	return ok
}

// Requests are the requests of the other peer so far.
func (p *Peer) Requests() []Frame { return p.requests }

// AwaitRequest returns the other peer's next request, unanswered.
func (p *Peer) AwaitRequest(ctx context.Context) (Frame, error) {
	for {
		f, err := p.Recv(ctx)
		if err != nil {
			return f, fmt.Errorf("no request: %w", err)
		}
		if f.IsRequest() {
			p.requests = append(p.requests, f)
			return f, nil
		}
		p.keep(f)
	}
}

// Pump serves the other peer's requests until ctx ends or the transport does.
func (p *Peer) Pump(ctx context.Context) {
	for p.step(ctx) == nil {
	}
}

// step takes one frame.
func (p *Peer) step(ctx context.Context) error {
	f, err := p.Recv(ctx)
	switch {
	case err != nil:
		return err
	case !f.IsRequest():
		p.keep(f)
		return nil
	}
	p.requests = append(p.requests, f)
	if p.Serve != nil {
		return p.Serve(ctx, f)
	}
	return p.Deny(ctx, f)
}

func (p *Peer) keep(f Frame) {
	if p.early == nil {
		p.early = make(map[string]Frame)
	}
	p.early[f.TextOf("request_id")] = f
}

// Deny answers a request op_unsupported.
func (p *Peer) Deny(ctx context.Context, request Frame) error {
	return p.Respond(ctx, request, "error", Object{"code": "op_unsupported", "message": "not served here", "extensions": Object{}})
}

// Respond answers a request with one member, payload or error.
func (p *Peer) Respond(ctx context.Context, request Frame, member string, value any) error {
	doc := request.Echo()
	doc[member] = value
	_, err := p.SendSigned(ctx, doc)
	return err
}
