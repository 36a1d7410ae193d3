package connect_test

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestAPeerThatFloodsAndNeverReadsCostsABoundedAmount(t *testing.T) {
	const frames = 200_000
	flood := func(t *testing.T, frame func(p *wirePeer) json.RawMessage) {
		eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
			before := runtime.NumGoroutine()
			var most int
			var sent int
			text := frame(p)
			for ; sent < frames; sent++ {
				if p.transport.Send(t.Context(), text) != nil {
					break
				}
				if sent%1000 == 0 {
					most = max(most, runtime.NumGoroutine())
				}
			}
			assert.Less(t, most-before, 100, "goroutines, and some of the runtime's own")
			assert.Less(t, sent, frames, "the session was not closed")
			assert.ErrorIs(t, s.Wait(), connect.ErrPeerNotReading)
		})
	}
	t.Run("unsigned requests", func(t *testing.T) {
		flood(t, func(p *wirePeer) json.RawMessage {
			frame, _ := json.Marshal(p.toolRequest(echoTool))
			return frame
		})
	})
	t.Run("requests at a wrong sequence", func(t *testing.T) {
		flood(t, func(p *wirePeer) json.RawMessage {
			doc := p.toolRequest(echoTool)
			doc["sequence"] = 99
			return p.sign(connect.RequestEnvelope, doc)
		})
	})
}

func TestLargeAnswersWaitForRoomAndAreRefusedOnlyWhenTooManyWait(t *testing.T) {
	for name, c := range map[string]struct {
		calls   int
		atOnce  bool // all handlers return at the same time
		refusal string
	}{
		"as many as may wait for room":             {calls: 16 + 3 + 7},
		"many more, one after the other":           {calls: 80, refusal: "INTERNAL_ERROR/overloaded"},
		"many more, whose handlers all ran before": {calls: 80, atOnce: true, refusal: "INTERNAL_ERROR/result"},
	} {
		t.Run(name, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			dial.Limits.PendingReplyBytes, respond.Limits.PendingReplyBytes = 100<<10, 100<<10
			eachRoleWith(t, func() connect.DialConfig { return dial },
				func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
				func(t *testing.T, s *connect.Session, p *wirePeer) {
					big, release := strings.Repeat("x", 30<<10), make(chan struct{})
					if !c.atOnce {
						close(release)
					}
					require.NoError(t, s.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { <-release; return big, nil }))
					for range c.calls {
						p.send(p.sign(connect.RequestEnvelope, p.toolRequest(otherTool)))
						p.sequence++
						synctest.Wait() // written, or waiting
					}
					if c.atOnce {
						close(release)
						synctest.Wait()
					}
					refusals := map[string]int{}
					for range c.calls {
						if answer := p.recv(); answer["payload"] == nil {
							refusals[errorOf(answer)]++
						}
					}
					if c.refusal == "" {
						assert.Empty(t, refusals)
					} else {
						assert.Positive(t, refusals[c.refusal], "%v", refusals)
						assert.Len(t, refusals, 1)
					}
					p.requireWorks()
				})
		})
	}
}

func TestTheFramesOfRequestsBeingServedAreBounded(t *testing.T) {
	dial, respond := dialConfig(), responderConfig()
	dial.Limits.HandlerBytes, respond.Limits.HandlerBytes = 100<<10, 100<<10
	bothWays(t, dial, respond, func(t *testing.T, caller, server *connect.Session) {
		release := make(chan struct{})
		require.NoError(t, server.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { <-release; return 1, nil }))
		big := object{"x": strings.Repeat("x", 60<<10)}
		first := make(chan error, 1)
		go func() { _, err := caller.InvokeTool(t.Context(), otherTool, big); first <- err }()
		synctest.Wait()
		_, err := caller.InvokeTool(t.Context(), otherTool, big)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "overloaded"})
		close(release)
		require.NoError(t, <-first)
		_, err = caller.InvokeTool(t.Context(), otherTool, object{"x": strings.Repeat("x", 200<<10)})
		require.NoError(t, err, "one large request alone is served")
	})
}

func TestAWriteThatTakesTooLongEndsTheSession(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		p.requireWorks() // so that no probe holds the invokes back
		start := time.Now()
		for range 40 { // more than the pipe holds
			go s.InvokeTool(connect.WithInvokeTimeout(t.Context(), time.Second), otherTool, nil)
			synctest.Wait()
		}
		assert.ErrorIs(t, s.Wait(), connect.ErrPeerNotReading)
		assert.Less(t, time.Since(start), 11*time.Second)
	})
}

func TestALimitMayBeAsLargeAsAnInt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		respond := responderConfig()
		respond.Limits.PendingReplyBytes, respond.Limits.HandlerBytes = math.MaxInt, math.MaxInt
		l := connectPair(t, dialConfig(), respond)
		defer l.close()
		_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	})
}
