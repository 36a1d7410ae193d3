package connect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestAFloodThatLeadsToNothingIsReadSlowly(t *testing.T) {
	for name, frame := range map[string]func(p *wirePeer) json.RawMessage{
		"invalid signatures": func(p *wirePeer) json.RawMessage {
			return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(d object) { d["payload"] = 1 })
		},
		"wrong sequences": func(p *wirePeer) json.RawMessage {
			doc := p.toolRequest(echoTool)
			doc["sequence"] = 1000
			return p.sign(connect.RequestEnvelope, doc)
		},
		"unknown ops": func(p *wirePeer) json.RawMessage {
			defer func() { p.sequence++ }()
			return p.sign(connect.RequestEnvelope, p.toolRequest("tools.test.unknown"))
		},
		"answers to nothing": func(p *wirePeer) json.RawMessage {
			return p.sign(connect.ResponseEnvelope, answerTo(p.toolRequest(echoTool), "payload", object{}))
		},
		"no envelopes": func(*wirePeer) json.RawMessage { return raw("{}") },
	} {
		t.Run(name, func(t *testing.T) {
			eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				drained := make(chan struct{})
				go func() { // what the session answers
					defer close(drained)
					for {
						if _, err := p.transport.Recv(context.Background()); err != nil {
							return
						}
					}
				}()
				flood := func(frames int) time.Duration {
					began := time.Now()
					for range frames {
						p.send(frame(p))
						synctest.Wait()
					}
					return time.Since(began)
				}
				assert.Less(t, flood(64), time.Millisecond, "a few in a row cost no time")
				assert.GreaterOrEqual(t, flood(500), 480*time.Millisecond) // the pipe takes a few more than are read
				assert.Equal(t, connect.Established, s.State())
				p.transport.Close()
				s.Wait()
				<-drained
			})
		})
	}
}

func TestLateAnswersAreReadAtFullSpeed(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		const calls = 500
		var requests []object
		for range calls {
			call := start(connect.WithInvokeTimeout(t.Context(), time.Second), s, otherTool)
			requests = append(requests, p.recv())
			_, err := call.wait()
			require.Equal(t, spoke.KindTimeout, spoke.KindOf(err))
		}
		began := time.Now()
		for _, request := range requests {
			p.respond(request, "payload", object{"result": 1})
		}
		requireUsable(t, s, p)
		assert.Zero(t, time.Since(began))
	})
}

func TestWhileAnswersPileUpNoHandlerRuns(t *testing.T) {
	respond := responderConfig()
	respond.Limits.PendingReplyBytes = 100 << 10
	bubble(t, func(t *testing.T) {
		served := new(runs)
		respond.Tools = spoke.ToolHandlers{echoTool: func(ctx context.Context, args json.RawMessage) (any, error) {
			_, _ = served.handler(ctx, args)
			return strings.Repeat("x", 20<<10), nil
		}}
		s, p := newWirePeer(t, "host", dialConfig(), respond)
		defer s.Wait()
		defer s.Close()
		ask := func(times int) {
			for range times {
				p.send(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)))
				p.sequence++
				synctest.Wait()
			}
		}
		ask(60) // more than the pipe holds and the bound allows
		before := served.n.Load()
		assert.Less(t, before, int32(50))
		ask(20)
		assert.Equal(t, before, served.n.Load())
		for range 80 {
			p.recv()
		}
		ask(1)
		assert.Equal(t, before+1, served.n.Load(), "once the peer has read it is served again")
	})
}
