package connect_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

// wirePeer is a hand-driven peer: it finishes the handshake honestly and then sends
// and reads whatever a test wants, frame by frame.
type wirePeer struct {
	t         testing.TB
	id        *connect.Identity
	transport connect.Transport
	sessionID string
	sequence  uint64
}

type object = map[string]any

// newWirePeer returns a session of ours and the wire peer at its other end. Role is
// who the session under test is: "app" or "host".
func newWirePeer(t testing.TB, role string, dial connect.DialConfig, respond connect.ResponderConfig) (*connect.Session, *wirePeer) {
	t.Helper()
	ours, theirs := connect.Pipe()
	if role == "host" {
		p := &wirePeer{t: t, id: appID, transport: theirs}
		accepted := make(chan *connect.Responder, 1)
		go func() {
			r, err := connect.Accept(t.Context(), ours, respond)
			if err != nil {
				t.Error(err)
			}
			accepted <- r
		}()
		p.dial(dial)
		return (<-accepted).Session, p
	}
	p := &wirePeer{t: t, id: hostID, transport: theirs}
	done := make(chan struct{})
	go func() { defer close(done); p.accept(respond) }()
	app, err := connect.Dial(t.Context(), ours, dial)
	require.NoError(t, err)
	<-done
	return app.Session, p
}

func (p *wirePeer) hello(manifest any, peerNonce string) json.RawMessage {
	doc := object{"protocol_version": 1, "peer_id": p.id.PeerID(), "nonce": uuid.NewString(), "host": manifest}
	if peerNonce != "" {
		doc["peer_nonce"] = peerNonce
	}
	return p.sign(connect.HelloEnvelope, doc)
}

func (p *wirePeer) dial(cfg connect.DialConfig) {
	p.send(p.hello(cfg.Manifest, ""))
	p.recv()
	p.sessionID = p.recv()["session_id"].(string)
}

func (p *wirePeer) accept(cfg connect.ResponderConfig) {
	hello := p.recv()
	p.send(p.hello(cfg.Manifest, hello["nonce"].(string)))
	p.sessionID = uuid.NewString()
	p.send(p.sign(connect.SessionEnvelope, object{
		"session_id": p.sessionID, "initiator_peer_id": hello["peer_id"], "responder_peer_id": p.id.PeerID(),
		"opened_at": "2026-01-01T00:00:00Z", "negotiated_capabilities": []string{"spoke-baseline"}, "initial_sequence": 0,
	}))
}

func (p *wirePeer) sign(kind connect.EnvelopeKind, doc object) json.RawMessage {
	p.t.Helper()
	data, err := json.Marshal(doc)
	require.NoError(p.t, err)
	signed, err := p.id.SignEnvelope(kind, data)
	require.NoError(p.t, err)
	return signed
}

func (p *wirePeer) send(frame json.RawMessage) {
	p.t.Helper()
	require.NoError(p.t, p.transport.Send(p.t.Context(), frame))
}

// recv returns the next frame as an object.
func (p *wirePeer) recv() object {
	p.t.Helper()
	frame, err := p.transport.Recv(p.t.Context())
	require.NoError(p.t, err)
	var doc object
	require.NoError(p.t, json.Unmarshal(frame, &doc))
	return doc
}

// request returns an unsigned request at the next sequence of this peer.
func (p *wirePeer) request(op string, payload any) object {
	return object{"session_id": p.sessionID, "sequence": p.sequence, "request_id": uuid.NewString(), "op": op, "payload": payload}
}

func (p *wirePeer) toolRequest(id string) object {
	return p.request(id, object{"arguments": object{"n": 1}})
}

// ask sends a signed request and returns its answer.
func (p *wirePeer) ask(doc object) object {
	p.t.Helper()
	p.send(p.sign(connect.RequestEnvelope, doc))
	return p.recv()
}

// askNext is ask for an honest request, which moves the counter.
func (p *wirePeer) askNext(op string, payload any) object {
	p.t.Helper()
	doc := p.request(op, payload)
	p.sequence++
	return p.ask(doc)
}

// requireWorks shows that the session still serves an honest request.
func (p *wirePeer) requireWorks() {
	p.t.Helper()
	answer := p.askNext(echoTool, object{"arguments": object{"n": 1}})
	require.Equal(p.t, object{"result": object{"n": 1.0}}, answer["payload"], "%v", answer)
}

// answerTo returns a response to a request of ours, ready to be signed.
func answerTo(request object, name string, body any) object {
	return object{"session_id": request["session_id"], "sequence": request["sequence"], "request_id": request["request_id"], name: body}
}

func (p *wirePeer) respond(request object, name string, body any) {
	p.t.Helper()
	p.send(p.sign(connect.ResponseEnvelope, answerTo(request, name, body)))
}

func (p *wirePeer) respondError(request object, code string, details object) {
	p.t.Helper()
	failure := object{"code": code, "message": "no", "extensions": object{}}
	if details != nil {
		failure["details"] = details
	}
	p.respond(request, "error", failure)
}

// errorOf returns the error of an answer as "code/kind".
func errorOf(answer object) string {
	failure, ok := answer["error"].(object)
	if !ok {
		return fmt.Sprintf("no error in %v", answer)
	}
	text := failure["code"].(string)
	if details, ok := failure["details"].(object); ok {
		text += fmt.Sprintf("/%v", details["kind"])
	}
	return text
}

// eachRole runs f in a bubble for a session of ours in each role against a wire peer.
func eachRole(t *testing.T, f func(t *testing.T, s *connect.Session, p *wirePeer)) {
	t.Helper()
	eachRoleWith(t, dialConfig, responderConfig, f)
}

func eachRoleWith(t *testing.T, dial func() connect.DialConfig, respond func() connect.ResponderConfig, f func(t *testing.T, s *connect.Session, p *wirePeer)) {
	t.Helper()
	for _, role := range []string{"app", "host"} {
		t.Run("our side is the "+role, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, p := newWirePeer(t, role, dial(), respond())
				defer s.Wait()
				defer s.Close()
				f(t, s, p)
			})
		})
	}
}
