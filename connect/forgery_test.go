package connect_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// forgeries are requests that must be refused without moving the counter, each made
// from an honest request that is signed.
var forgeries = map[string]struct {
	want  string
	forge func(p *wirePeer) json.RawMessage
}{
	"a request without a signature": {"auth_failed/envelope_auth_missing", func(p *wirePeer) json.RawMessage {
		return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(doc object) { delete(doc, "signature") })
	}},
	"an empty signature": {"auth_failed/envelope_auth_missing", func(p *wirePeer) json.RawMessage {
		return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(doc object) { doc["signature"] = "" })
	}},
	"another payload under the signature": {"auth_failed/envelope_auth_invalid", func(p *wirePeer) json.RawMessage {
		return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(doc object) { doc["payload"] = object{} })
	}},
	"an unsigned extra member": {"auth_failed/envelope_auth_invalid", func(p *wirePeer) json.RawMessage {
		return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(doc object) { doc["extra"] = 1 })
	}},
	"an auth that was added on the way": {"auth_failed/envelope_auth_invalid", func(p *wirePeer) json.RawMessage {
		return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(doc object) { doc["auth"] = nil })
	}},
	"the signature of another key": {"auth_failed/envelope_auth_invalid", func(p *wirePeer) json.RawMessage {
		stranger := *p
		stranger.id = strangerID
		return stranger.sign(connect.RequestEnvelope, p.toolRequest(echoTool))
	}},
	"a foreign session id, signed": {"auth_failed/envelope_auth_session_unbound", func(p *wirePeer) json.RawMessage {
		doc := p.toolRequest(echoTool)
		doc["session_id"] = "another-session"
		return p.sign(connect.RequestEnvelope, doc)
	}},
	"a sequence that skips one": {"invalid_sequence", func(p *wirePeer) json.RawMessage {
		doc := p.toolRequest(echoTool)
		doc["sequence"] = p.sequence + 1
		return p.sign(connect.RequestEnvelope, doc)
	}},
	"the largest sequence": {"invalid_sequence", func(p *wirePeer) json.RawMessage {
		doc := p.toolRequest(echoTool)
		doc["sequence"] = int64(1<<53 - 1)
		return p.sign(connect.RequestEnvelope, doc)
	}},
	"a wrong sequence and a wrong signature, sequence first": {"invalid_sequence", func(p *wirePeer) json.RawMessage {
		return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(doc object) { doc["sequence"] = 77; doc["signature"] = "x" })
	}},
}

// edit changes a frame after it was signed.
func edit(frame json.RawMessage, change func(doc object)) json.RawMessage {
	var doc object
	if err := json.Unmarshal(frame, &doc); err != nil {
		panic(err)
	}
	change(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return out
}

func TestAForgedRequestChangesNothing(t *testing.T) {
	for name, c := range forgeries {
		t.Run(name, func(t *testing.T) {
			eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				for range 2 {
					p.send(c.forge(p))
					answer := p.recv()
					assert.Equal(t, c.want, errorOf(answer))
					assert.Equal(t, s.ID(), answer["session_id"], "a response carries this session's own id")
					p.requireWorks()
				}
			})
		})
	}
}

func TestEveryAnswerOfOursVerifies(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		key, err := s.LocalPeerID().PublicKey()
		require.NoError(t, err)
		for _, doc := range []object{p.toolRequest(echoTool), p.toolRequest("tools.test.unknown")} {
			doc["sequence"] = p.sequence
			p.sequence++
			p.send(p.sign(connect.RequestEnvelope, doc))
			frame, err := p.transport.Recv(t.Context())
			require.NoError(t, err)
			require.NoError(t, connect.VerifyEnvelope(connect.ResponseEnvelope, frame, key, s.ID()))
		}
	})
}

func TestAReplayedRequestReachesNoHandler(t *testing.T) {
	var calls atomic.Int32
	counted := func(ctx context.Context, args json.RawMessage) (any, error) { calls.Add(1); return args, nil }
	dial, respond := dialConfig(), responderConfig()
	dial.Tools, respond.Tools = spoke.ToolHandlers{echoTool: counted}, spoke.ToolHandlers{echoTool: counted}
	eachRoleWith(t, func() connect.DialConfig { return dial }, func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
		func(t *testing.T, s *connect.Session, p *wirePeer) {
			calls.Store(0)
			frame := p.sign(connect.RequestEnvelope, p.toolRequest(echoTool))
			p.sequence++
			p.send(frame)
			require.NotNil(t, p.recv()["payload"])
			p.send(frame)
			assert.Equal(t, "invalid_sequence", errorOf(p.recv()))
			assert.EqualValues(t, 1, calls.Load())
			p.requireWorks()
		})
}

func TestARecordedSessionReachesNoHandlerOfAFreshResponder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		respond := responderConfig()
		var sent [][]byte
		a, b := connect.Pipe()
		l := connectOver(t, &recorder{Transport: a, sent: &sent}, b, dialConfig(), respond)
		_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		l.close()

		for name, nonces := range map[string]connect.NonceStore{"a responder that remembers": respond.Nonces, "a responder that was restarted": connect.NewNonceStore(0)} {
			var calls atomic.Int32
			again := respond
			again.Nonces = nonces
			again.Tools = spoke.ToolHandlers{echoTool: func(context.Context, json.RawMessage) (any, error) { calls.Add(1); return nil, nil }}
			c, d := connect.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for _, frame := range sent {
					if c.Send(t.Context(), frame) != nil {
						break
					}
				}
				c.Close()
			}()
			host, err := connect.Accept(t.Context(), d, again)
			if err == nil {
				host.Wait()
			}
			<-done
			assert.Zero(t, calls.Load(), name)
		}
	})
}

// recorder keeps a copy of what was sent.
type recorder struct {
	connect.Transport
	sent *[][]byte
}

func (r *recorder) Send(ctx context.Context, frame []byte) error {
	*r.sent = append(*r.sent, append([]byte(nil), frame...))
	return r.Transport.Send(ctx, frame)
}
