package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// invocation is an invoke of ours under way.
type invocation struct {
	done  chan struct{}
	value json.RawMessage
	err   error
}

func start(ctx context.Context, s *connect.Session, id string) *invocation {
	i := &invocation{done: make(chan struct{})}
	go func() {
		defer close(i.done)
		i.value, i.err = s.InvokeTool(ctx, id, nil)
	}()
	return i
}

func (i *invocation) wait() (json.RawMessage, error) {
	<-i.done
	return i.value, i.err
}

// eachProvenRole is eachRole after the wire peer has signed a request, so that no
// probe goes before the session's own requests.
func eachProvenRole(t *testing.T, f func(t *testing.T, s *connect.Session, p *wirePeer)) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		p.requireWorks()
		f(t, s, p)
	})
}

func requireUsable(t *testing.T, s *connect.Session, p *wirePeer) {
	t.Helper()
	call := start(t.Context(), s, otherTool)
	p.respond(p.recv(), "payload", object{"result": "fine"})
	got, err := call.wait()
	require.NoError(t, err)
	assert.Equal(t, `"fine"`, string(got))
}

// The caller's table of wire spec, section 9: one answer of the peer's each, and what
// the caller sees. The session stays usable unless ends says why not.
func TestWhatTheCallerSeesForAnAnswer(t *testing.T) {
	failure := func(code string, details object) func(p *wirePeer, request object) {
		return func(p *wirePeer, request object) { p.respondError(request, code, details) }
	}
	forged := func(name string, body any, change func(doc object)) func(p *wirePeer, request object) {
		return func(p *wirePeer, request object) {
			p.send(edit(p.sign(connect.ResponseEnvelope, answerTo(request, name, body)), change))
		}
	}
	echoed := func(change func(doc object)) func(p *wirePeer, request object) {
		return func(p *wirePeer, request object) {
			doc := answerTo(request, "payload", object{"result": 1})
			change(doc)
			p.send(p.sign(connect.ResponseEnvelope, doc))
		}
	}
	kind := func(k string) map[string]any { return map[string]any{"kind": k} }
	for name, c := range map[string]struct {
		answer  func(p *wirePeer, request object)
		code    spoke.Code
		details map[string]any
		ends    error
	}{
		"op_unsupported": {answer: failure("op_unsupported", nil), code: spoke.CodeCapabilityPortMissing,
			details: map[string]any{"wire_code": "op_unsupported"}},
		"capability_missing with details": {answer: failure("capability_missing", object{"a": 1}), code: spoke.CodeCapabilityPortMissing,
			details: map[string]any{"wire_code": "capability_missing", "a": 1.0}},
		"auth_failed for a token": {answer: failure("auth_failed", object{"kind": "token_invalid"}), code: spoke.CodeInternalError,
			details: kind("token_invalid")},
		"auth_failed for an envelope": {answer: failure("auth_failed", object{"kind": "envelope_auth_invalid"}), code: spoke.CodeInternalError,
			details: kind("envelope_auth_invalid"), ends: connect.ErrOutOfStep},
		"invalid_sequence": {answer: failure("invalid_sequence", object{"expected": 7}), code: spoke.CodeInvalidInput,
			details: map[string]any{"wire_code": "invalid_sequence"}, ends: connect.ErrOutOfStep},
		"a code that nobody knows": {answer: failure("strange", object{"kind": "timeout"}), code: spoke.CodeInvalidInput,
			details: map[string]any{"wire_code": "strange"}},
		"a code of the protocol": {answer: failure("KNOWLEDGE_ENTRY_NOT_FOUND", object{"entry_id": "x"}), code: spoke.CodeKnowledgeEntryNotFound,
			details: map[string]any{"entry_id": "x"}},
		"an error that is text": {answer: func(p *wirePeer, r object) { p.respond(r, "error", "no") }, code: spoke.CodeInternalError,
			details: kind("transport")},
		"an error without a code": {answer: func(p *wirePeer, r object) { p.respond(r, "error", object{"message": "m", "extensions": object{}}) }, code: spoke.CodeInternalError,
			details: kind("transport")},
		"details that are a list": {answer: func(p *wirePeer, r object) {
			p.respond(r, "error", object{"code": "x", "message": "m", "details": []int{1}, "extensions": object{}})
		}, code: spoke.CodeInternalError, details: kind("transport")},
		"a success without a result": {answer: func(p *wirePeer, r object) { p.respond(r, "payload", object{"x": 1}) }, code: spoke.CodeInternalError,
			details: kind("transport")},
		"a success that is no object": {answer: func(p *wirePeer, r object) { p.respond(r, "payload", []int{1}) }, code: spoke.CodeInternalError,
			details: kind("transport")},
		"another sequence": {answer: echoed(func(d object) { d["sequence"] = 12345 }), code: spoke.CodeInternalError,
			details: kind("correlation_mismatch")},
		"a foreign session id": {answer: echoed(func(d object) { d["session_id"] = "other" }), code: spoke.CodeInternalError,
			details: kind("correlation_mismatch")},
		"no signature": {answer: forged("payload", object{"result": 1}, func(d object) { delete(d, "signature") }), code: spoke.CodeInternalError,
			details: kind("envelope_auth_missing")},
		"another payload": {answer: forged("payload", object{"result": 1}, func(d object) { d["payload"] = object{"result": 2} }), code: spoke.CodeInternalError,
			details: kind("envelope_auth_invalid")},
		"payload and error": {answer: forged("payload", object{"result": 1}, func(d object) { d["error"] = object{"code": "x"} }), code: spoke.CodeInternalError,
			details: kind("envelope_auth_invalid")},
		"a signature of ours played back": {answer: func(p *wirePeer, r object) {
			reflected := *p
			reflected.id = map[bool]*connect.Identity{true: appID, false: hostID}[p.id == hostID]
			reflected.respond(r, "payload", object{"result": 1})
		}, code: spoke.CodeInternalError, details: kind("envelope_auth_invalid")},
	} {
		t.Run(name, func(t *testing.T) {
			eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				call := start(t.Context(), s, otherTool)
				c.answer(p, p.recv())
				_, err := call.wait()
				requireReject(t, err, c.code, c.details)
				assert.Zero(t, connect.WaiterCount(s))
				if c.ends != nil {
					assert.ErrorIs(t, s.Wait(), c.ends)
					return
				}
				requireUsable(t, s, p)
			})
		})
	}
}

func TestTheResultIsTheCanonicalValueThatWasSigned(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		call := start(t.Context(), s, otherTool)
		p.respond(p.recv(), "payload", raw(`{ "result" : { "b": 1.0, "a": null } , "more": 1 }`))
		got, err := call.wait()
		require.NoError(t, err)
		assert.Equal(t, `{"a":null,"b":1}`, string(got))
	})
}

func TestATimeoutFailsThatInvokeAloneAndALateAnswerIsDropped(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		began := time.Now()
		late := start(connect.WithInvokeTimeout(t.Context(), 50*time.Millisecond), s, otherTool)
		other := start(t.Context(), s, otherTool)
		first, second := p.recv(), p.recv()
		_, err := late.wait()
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "timeout"})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		for _, request := range []object{first, second} {
			p.respond(request, "payload", object{"result": request["sequence"]})
		}
		_, err = other.wait()
		require.NoError(t, err)
		requireUsable(t, s, p)
	})
}

func TestTimeoutsByDefaultByConfigAndByContext(t *testing.T) {
	for name, c := range map[string]struct {
		config time.Duration
		ctx    func(ctx context.Context) (context.Context, context.CancelFunc)
		want   time.Duration
		kind   string
		is     error
	}{
		"the default is five seconds": {want: 5 * time.Second, kind: "timeout", is: context.DeadlineExceeded},
		"the session's own":           {config: time.Second, want: time.Second, kind: "timeout", is: context.DeadlineExceeded},
		"one invoke's own, longer": {config: time.Second, want: time.Minute, kind: "timeout", is: context.DeadlineExceeded,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return connect.WithInvokeTimeout(ctx, time.Minute), func() {}
			}},
		"the caller's deadline": {want: time.Millisecond, kind: "timeout", is: context.DeadlineExceeded,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Millisecond)
			}},
		"none, until the caller's deadline": {config: -1, want: time.Hour, kind: "timeout", is: context.DeadlineExceeded,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Hour)
			}},
		"the caller's cancellation": {want: time.Second, kind: "canceled", is: context.Canceled,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			}},
	} {
		t.Run(name, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			dial.InvokeTimeout, respond.InvokeTimeout = c.config, c.config
			eachRoleWith(t, func() connect.DialConfig { return dial },
				func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
				func(t *testing.T, s *connect.Session, p *wirePeer) {
					p.requireWorks()
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					began := time.Now()
					if c.ctx != nil {
						ctx, cancel = c.ctx(ctx)
					}
					defer cancel()
					_, err := start(ctx, s, otherTool).wait()
					requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": c.kind})
					assert.ErrorIs(t, err, c.is)
					assert.Equal(t, c.want, time.Since(began))
					p.recv()
					requireUsable(t, s, p)
				})
		})
	}
}

func TestACanceledContextSendsNothing(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.InvokeTool(ctx, otherTool, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "canceled"})
		requireUsable(t, s, p) // its request is the first that the peer gets
	})
}

func TestACallerThatGivesUpWaitingForTheSlotLeavesNoGap(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		var stuck []*invocation
		for range 17 { // sixteen fill the pipe, the last holds the slot
			stuck = append(stuck, start(t.Context(), s, otherTool))
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		quitter := start(ctx, s, otherTool)
		hasty := start(connect.WithInvokeTimeout(t.Context(), time.Millisecond), s, otherTool)
		_, err := hasty.wait()
		assert.Equal(t, spoke.KindTimeout, spoke.KindOf(err))
		cancel()
		_, err = quitter.wait()
		assert.Equal(t, spoke.KindCanceled, spoke.KindOf(err))
		for i := range stuck {
			request := p.recv()
			require.EqualValues(t, i, request["sequence"])
			p.respond(request, "payload", object{"result": i})
		}
		for _, call := range stuck {
			_, err := call.wait()
			require.NoError(t, err)
		}
		requireUsable(t, s, p)
	})
}

func TestCloseWhileInvokesWaitSettlesThemAll(t *testing.T) {
	for _, closer := range []string{"our side", "the peer"} {
		t.Run("closed by "+closer, func(t *testing.T) {
			eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				var calls []*invocation
				for range 40 { // some wait for an answer, some for the slot
					calls = append(calls, start(t.Context(), s, otherTool))
				}
				synctest.Wait()
				if closer == "our side" {
					s.Close()
				} else {
					p.transport.Close()
				}
				for _, call := range calls {
					_, err := call.wait()
					reject := rejectOf(t, err)
					assert.Contains(t, []string{spoke.KindSessionClosed, spoke.KindTransport}, reject.Kind())
					assert.ErrorIs(t, err, connect.ErrSessionClosed)
				}
				if err := s.Wait(); closer == "our side" {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, connect.ErrSessionClosed)
				}
				_, err := s.InvokeTool(t.Context(), otherTool, nil)
				requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "session_closed"})
				assert.Equal(t, connect.Closed, s.State())
				<-s.Done()
			})
		})
	}
}

func TestAHandlersContextEndsWithItsSession(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		var cause error
		require.NoError(t, server.RegisterToolHandler(otherTool, func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, ctx.Err()
		}))
		call := start(t.Context(), caller, otherTool)
		synctest.Wait()
		caller.Close()
		_, err := call.wait()
		assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
		assert.ErrorIs(t, server.Wait(), connect.ErrSessionClosed)
		assert.ErrorIs(t, cause, connect.ErrSessionClosed)
	})
}

func TestTheSequenceDoesNotWrap(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		connect.SetOutboundSequence(s, connect.MaxSequence)
		requireUsable(t, s, p) // the last one
		_, err := s.InvokeTool(t.Context(), otherTool, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "sequence_exhausted"})
		assert.ErrorIs(t, s.Wait(), connect.ErrSequenceExhausted)
	})
}

// brokenTransport fails every Send after a while.
type brokenTransport struct {
	connect.Transport
	mu   sync.Mutex
	left int
}

var errBroken = errors.New("broken pipe")

func (b *brokenTransport) Send(ctx context.Context, frame []byte) error {
	b.mu.Lock()
	b.left--
	broken := b.left < 0
	b.mu.Unlock()
	if broken {
		return errBroken
	}
	return b.Transport.Send(ctx, frame)
}

func TestAFailedWriteEndsTheSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := connect.Pipe()
		l := connectOver(t, &brokenTransport{Transport: a, left: 2}, b, dialConfig(), responderConfig())
		defer l.close()
		_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		_, err = l.app.InvokeTool(t.Context(), echoTool, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "transport"})
		assert.ErrorIs(t, err, errBroken)
		assert.ErrorIs(t, l.app.Wait(), errBroken)
	})
}

func TestAStuckWriteDoesNotHoldItsCaller(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		for range 17 { // sixteen fill the pipe, the last is stuck in its write
			ctx, cancel := context.WithCancel(t.Context())
			call := start(ctx, s, otherTool)
			synctest.Wait()
			began := time.Now()
			cancel()
			_, err := call.wait()
			assert.Equal(t, spoke.KindCanceled, spoke.KindOf(err))
			assert.Zero(t, time.Since(began))
		}
		assert.Zero(t, connect.WaiterCount(s))
		for i := range 17 { // all were sent, in order: a frame is never torn
			require.EqualValues(t, i, p.recv()["sequence"])
		}
		requireUsable(t, s, p)
	})
}

func TestTheEndOfTheSessionComesBeforeTheEndOfAContext(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		nested := make(chan error, 2)
		require.NoError(t, caller.RegisterToolHandler(otherTool, func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		require.NoError(t, server.RegisterToolHandler(otherTool, func(ctx context.Context, _ json.RawMessage) (any, error) {
			_, err := server.InvokeTool(ctx, otherTool, nil) // waits until the session ends
			nested <- err
			_, err = server.InvokeTool(ctx, otherTool, nil) // begins after it ended
			nested <- err
			return nil, err
		}))
		call := start(t.Context(), caller, otherTool)
		synctest.Wait()
		server.Close()
		for range 2 {
			err := <-nested
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "session_closed"})
			assert.ErrorIs(t, err, connect.ErrSessionClosed)
			assert.NotErrorIs(t, err, context.Canceled)
		}
		call.wait()
	})
}

func TestTheTextOfATransportsErrorStaysOnThisSide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := connect.Pipe()
		l := connectOver(t, &brokenTransport{Transport: a, left: 1}, b, dialConfig(), responderConfig())
		defer l.close()
		_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
		assert.NotContains(t, err.Error(), errBroken.Error())
		assert.ErrorIs(t, err, errBroken)
	})
}

// What is written in fewer characters than its canonical form is read as often as that.
func TestManyLargeNumbersTravel(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, _ *connect.Session) {
		list := raw("[%s]", strings.TrimSuffix(strings.Repeat("1e20,", 3000), ","))
		got, err := caller.InvokeTool(t.Context(), echoTool, raw(`{"a":%s}`, list))
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(string(raw(`{"a":%s}`, list)), "1e20", "100000000000000000000"), string(got))
	})
}

func TestAToolIDThatIsTooLongForAnOpSendsNothing(t *testing.T) {
	long := "tools.test." + strings.Repeat("a", 246)
	bubble(t, func(t *testing.T) {
		l := connectPair(t, dialConfig(), responderConfig())
		defer l.close()
		for _, invoke := range []func() (json.RawMessage, error){
			func() (json.RawMessage, error) { return l.app.InvokeTool(t.Context(), long, nil) },
			func() (json.RawMessage, error) { return l.app.Invoke(t.Context(), long, nil) },
		} {
			_, err := invoke()
			assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
		}
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(l.app.RegisterToolHandler(long, echo)))
		_, err := connect.NewRouter(connect.RouterConfig{}).InvokeTool(t.Context(), long, nil)
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
		_, err = l.app.InvokeTool(t.Context(), long[:256], nil)
		assert.Equal(t, spoke.CodeCapabilityPortMissing, spoke.CodeOf(err), "the peer answers")
		_, err = l.app.InvokeTool(t.Context(), echoTool, nil)
		assert.NoError(t, err, "the sequence is as it was")
	})
}
