package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// The deny matrix of wire spec, section 5: what the peer answers and what the caller
// sees, in both directions.
func TestDenyMatrix(t *testing.T) {
	dial, respond := dialConfig(), responderConfig()
	unlisted := "tools.test.unlisted"
	handlers := spoke.ToolHandlers{
		echoTool: echo,
		unlisted: echo,
		slowTool: func(context.Context, json.RawMessage) (any, error) { panic("secret") },
	}
	dial.Tools, respond.Tools = handlers, handlers
	ops := []connect.Op{
		{Name: "test.granted", Capability: "test.ops", Handle: func(_ context.Context, p json.RawMessage) (any, error) { return p, nil }},
		{Name: "test.ungranted", Capability: "test.not-negotiated", Handle: func(context.Context, json.RawMessage) (any, error) { return 1, nil }},
		{Name: "check", Handle: func(context.Context, json.RawMessage) (any, error) { return "checked", nil }},
		{Name: "compute", Handle: func(context.Context, json.RawMessage) (any, error) { return 1, nil }},
	}
	dial.Ops, respond.Ops = ops, ops
	unsupported := map[string]any{"wire_code": "op_unsupported"}
	bothWays(t, dial, respond, func(t *testing.T, caller, _ *connect.Session) {
		for name, c := range map[string]struct {
			op      string
			payload any
			code    spoke.Code
			details map[string]any
		}{
			"a tool that no manifest lists":                 {"tools.test.nowhere", object{"arguments": object{}}, spoke.CodeCapabilityPortMissing, unsupported},
			"a tool with a handler that no manifest lists":  {unlisted, object{"arguments": object{}}, spoke.CodeCapabilityPortMissing, unsupported},
			"a listed tool without a handler":               {otherTool, object{"arguments": object{}}, spoke.CodeCapabilityPortMissing, unsupported},
			"an unknown op":                                 {"nope", nil, spoke.CodeCapabilityPortMissing, unsupported},
			"a port without a provider":                     {"port.knowledge.get", object{"entry_id": "x"}, spoke.CodeCapabilityPortMissing, unsupported},
			"an unknown port":                               {"port.nope", nil, spoke.CodeCapabilityPortMissing, unsupported},
			"a core op without a handler":                   {"upsert", object{}, spoke.CodeCapabilityPortMissing, unsupported},
			"a core op whose capability was not negotiated": {"compute", object{}, spoke.CodeCapabilityPortMissing, unsupported},
			"an application op whose capability was not":    {"test.ungranted", nil, spoke.CodeCapabilityPortMissing, unsupported},
			"the probe":                   {"tools.spoke.probe", object{"arguments": object{}}, spoke.CodeCapabilityPortMissing, unsupported},
			"arguments that are a list":   {echoTool, object{"arguments": []int{1}}, spoke.CodeInvalidInput, map[string]any{"field": "arguments"}},
			"arguments that are null":     {echoTool, object{"arguments": nil}, spoke.CodeInvalidInput, map[string]any{"field": "arguments"}},
			"a payload without arguments": {echoTool, object{}, spoke.CodeInvalidInput, map[string]any{"field": "arguments"}},
			"a payload that is no object": {echoTool, "text", spoke.CodeInvalidInput, map[string]any{"field": "arguments"}},
			"a handler that panics":       {slowTool, object{"arguments": object{}}, spoke.CodeInternalError, nil},
		} {
			_, err := caller.Invoke(t.Context(), c.op, c.payload)
			reject := rejectOf(t, err)
			assert.Equal(t, c.code, reject.Code, name)
			assert.Equal(t, c.details, reject.Details, name)
			assert.True(t, reject.Remote(), name)
			assert.NotContains(t, reject.Error(), "secret", name)
		}
		for op, want := range map[string]string{"test.granted": `[1,null]`, "check": `"checked"`} {
			got, err := caller.Invoke(t.Context(), op, raw(`[1, null]`))
			require.NoError(t, err)
			assert.Equal(t, want, string(got))
		}
		got, err := caller.InvokeTool(t.Context(), echoTool, raw(`{ "a": 1.0 }`))
		require.NoError(t, err, "the session lives on after every denial")
		assert.Equal(t, `{"a":1}`, string(got))
	})
}

func TestAnAttachedAuthIsRefusedWithoutTrustedIssuers(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		for _, auth := range []any{nil, object{"v": 1}, "token"} {
			doc := p.toolRequest(echoTool)
			doc["auth"] = auth
			p.sequence++
			assert.Equal(t, "auth_failed/token_invalid", errorOf(p.ask(doc)))
		}
		p.requireWorks() // the counter moved with each
	})
}

func TestHandlersGetCanonicalArguments(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		got := make(chan string, 1)
		require.NoError(t, s.RegisterToolHandler(otherTool, func(_ context.Context, args json.RawMessage) (any, error) {
			got <- string(args)
			return nil, nil
		}))
		frame := p.sign(connect.RequestEnvelope, p.request(otherTool, raw(`{"arguments":{"n":9007199254740992,"a":"b"}}`)))
		sent := strings.Replace(string(frame), "9007199254740992", `9007199254740993 , "z" : [ ] `, 1)
		require.NotEqual(t, string(frame), sent)
		// The signature must cover z; sign what the canonical form will be.
		frame = p.sign(connect.RequestEnvelope, p.request(otherTool, raw(`{"arguments":{"n":9007199254740993 , "a":"b"}}`)))
		spaced := strings.Replace(string(frame), `"n":9007199254740992`, ` "n" : 9007199254740993 `, 1)
		require.NotEqual(t, string(frame), spaced)
		p.sequence++
		p.send(json.RawMessage(spaced))
		assert.Equal(t, object{"result": nil}, p.recv()["payload"])
		assert.Equal(t, `{"a":"b","n":9007199254740992}`, <-got, "a handler sees the value that was signed")
	})
}

func TestWhatCannotTravelIsRefusedOnTheWayOut(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		for name, args := range map[string]any{
			"an integer that a double cannot carry": object{"n": int64(9007199254740993)},
			"a large integer in raw JSON":           raw(`{"n":[1152921504606846976]}`),
			"a number that vanishes":                raw(`{"n":1e-400}`),
			"a number out of range":                 raw(`{"n":1e400}`),
			"not a number":                          object{"n": math.NaN()},
			"a channel":                             object{"c": make(chan int)},
			"a duplicate name":                      raw(`{"a":1,"a":2}`),
			"a lone surrogate":                      raw(`{"a":"\ud800"}`),
			"invalid UTF-8":                         object{"a": "\xff"},
			"no JSON":                               raw(`{`),
			"a list":                                []int{1},
			"null":                                  raw(`null`),
			"too deep":                              raw(`{"a":%s1%s}`, strings.Repeat("[", 300), strings.Repeat("]", 300)),
			"too large":                             object{"a": strings.Repeat("x", 5<<20)},
		} {
			_, err := caller.InvokeTool(t.Context(), echoTool, args)
			reject := rejectOf(t, err)
			assert.Equal(t, spoke.CodeInvalidInput, reject.Code, name)
			assert.False(t, reject.Remote(), name)
		}
		_, err := caller.InvokeTool(t.Context(), echoTool, raw(`{"n":0.10,"m":1e23,"z":-0}`))
		require.NoError(t, err)
		_, err = caller.InvokeTool(t.Context(), "tools.Bad.id", nil)
		requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": "tools.Bad.id"})
		_, err = caller.Invoke(t.Context(), strings.Repeat("x", 257), nil)
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	})
}

func TestAResultThatCannotTravelAnswersInternalError(t *testing.T) {
	values := map[string]any{
		"a large integer": int64(9007199254740993),
		"not a number":    math.Inf(1),
		"a channel":       make(chan int),
		"a function":      func() {},
		"broken raw JSON": raw(`{"a":`),
		"duplicate names": raw(`{"a":1,"a":2}`),
		"invalid UTF-8":   "\xff",
		"too large":       strings.Repeat("x", 5<<20),
		"too deep":        raw(`%s1%s`, strings.Repeat("[", 255), strings.Repeat("]", 255)),
	}
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		for name, value := range values {
			require.NoError(t, server.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { return value, nil }))
			_, err := caller.InvokeTool(t.Context(), otherTool, nil)
			reject := rejectOf(t, err)
			assert.Equal(t, spoke.CodeInternalError, reject.Code, name)
			assert.Equal(t, spoke.KindResult, reject.Kind(), name)
		}
		_, err := caller.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	})
}

func TestWhatAHandlersErrorBecomes(t *testing.T) {
	var nilReject *spoke.Reject
	for name, c := range map[string]struct {
		err     error
		code    spoke.Code
		details map[string]any
	}{
		"a reject passes through":                   {spoke.Rejectf(spoke.CodeKnowledgeEntryNotFound, "gone").WithDetail("entry_id", "x"), spoke.CodeKnowledgeEntryNotFound, map[string]any{"entry_id": "x"}},
		"a wrapped reject too":                      {errors.Join(errors.New("outer"), spoke.Rejectf(spoke.CodeRevisionConflict, "no")), spoke.CodeRevisionConflict, nil},
		"any other error hides its text":            {errors.New("secret"), spoke.CodeInternalError, nil},
		"a nil reject in an error":                  {nilReject, spoke.CodeInternalError, nil},
		"a code that the protocol does not know":    {(&spoke.Reject{Code: "app_specific", Message: "m"}).WithDetail("a", true), spoke.CodeInternalError, map[string]any{"a": true}},
		"a code that exists on the wire only":       {(&spoke.Reject{Code: "auth_failed", Message: "m"}).WithKind("envelope_auth_invalid"), spoke.CodeInternalError, map[string]any{"kind": "envelope_auth_invalid"}},
		"a reject without a code":                   {&spoke.Reject{Message: "m"}, spoke.CodeInternalError, nil},
		"a detail that cannot travel is left out":   {spoke.Rejectf(spoke.CodeInvalidInput, "m").WithDetail("c", make(chan int)).WithDetail("n", int64(9007199254740993)).WithKind("k"), spoke.CodeInvalidInput, map[string]any{"kind": "k"}},
		"a message that is not UTF-8":               {spoke.Rejectf(spoke.CodeRevisionConflict, "\xff"), spoke.CodeRevisionConflict, nil},
		"a message larger than a frame":             {spoke.Rejectf(spoke.CodeRevisionConflict, "%s", strings.Repeat("x", 5<<20)).WithKind("k"), spoke.CodeRevisionConflict, nil},
		"details larger than a frame":               {spoke.Rejectf(spoke.CodeRevisionConflict, "m").WithDetail("x", strings.Repeat("x", 5<<20)), spoke.CodeRevisionConflict, nil},
		"a detail that nests too deep":              {spoke.Rejectf(spoke.CodeRevisionConflict, "m").WithDetail("x", raw("%s1%s", strings.Repeat("[", 254), strings.Repeat("]", 254))).WithKind("k"), spoke.CodeRevisionConflict, map[string]any{"kind": "k"}},
		"a detail whose encoding panics":            {spoke.Rejectf(spoke.CodeRevisionConflict, "m").WithDetail("x", panicJSON{}), spoke.CodeInternalError, nil},
		"a capability reject keeps its own details": {spoke.Rejectf(spoke.CodeCapabilityPortMissing, "m").WithDetail("capability", "c"), spoke.CodeCapabilityPortMissing, map[string]any{"capability": "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
				require.NoError(t, server.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { return nil, c.err }))
				_, err := caller.InvokeTool(t.Context(), otherTool, nil)
				reject := requireReject(t, err, c.code, c.details)
				assert.NotContains(t, reject.Message, "secret")
				_, err = caller.InvokeTool(t.Context(), echoTool, nil)
				require.NoError(t, err)
			})
		})
	}
}

func TestAHandlerThatLeavesItsGoroutineIsAnswered(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		require.NoError(t, server.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) {
			runtime.Goexit()
			return nil, nil
		}))
		_, err := caller.InvokeTool(t.Context(), otherTool, nil)
		requireReject(t, err, spoke.CodeInternalError, nil)
	})
}

func TestArgumentsAndResultsAreValidatedAgainstTheServedDescriptor(t *testing.T) {
	described := func(m *spoke.HostCapabilityManifest) {
		m.Tools[0].Input = raw(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		m.Tools[0].Output = raw(`{"type":"object","required":["ok"]}`)
	}
	for _, skip := range []bool{false, true} {
		dial, respond := dialConfig(), responderConfig()
		described(&dial.Manifest)
		described(&respond.Manifest)
		dial.SkipValidation, respond.SkipValidation = skip, skip
		bothWays(t, dial, respond, func(t *testing.T, caller, server *connect.Session) {
			_, badArgs := caller.InvokeTool(t.Context(), echoTool, raw(`{"n":"one"}`))
			_, badResult := caller.InvokeTool(t.Context(), echoTool, raw(`{"n":1}`))
			_, good := caller.InvokeTool(t.Context(), echoTool, raw(`{"n":1.0,"ok":true}`))
			require.NoError(t, good)
			if skip {
				require.NoError(t, badArgs)
				require.NoError(t, badResult)
				return
			}
			reject := rejectOf(t, badArgs)
			assert.Equal(t, spoke.CodeInvalidInput, reject.Code)
			assert.Equal(t, "arguments", reject.Details["field"])
			assert.Equal(t, spoke.CodeInternalError, spoke.CodeOf(badResult))
			assert.Equal(t, spoke.KindResult, spoke.KindOf(badResult))
		})
	}
}

func TestTwoHundredHandlersInvokeTheirCallerWhileBeingServed(t *testing.T) {
	const calls = 200
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		inside := make(chan struct{}, calls)
		all := make(chan struct{})
		require.NoError(t, server.RegisterToolHandler(otherTool, func(ctx context.Context, args json.RawMessage) (any, error) {
			if inside <- struct{}{}; len(inside) == calls {
				close(all)
			}
			<-all // every handler runs at the same time
			s, ok := connect.SessionFromContext(ctx)
			if !ok {
				return nil, errors.New("no session")
			}
			return s.InvokeTool(ctx, echoTool, args)
		}))
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() {
				got, err := caller.InvokeTool(t.Context(), otherTool, object{"i": i})
				if assert.NoError(t, err) {
					assert.JSONEq(t, string(raw(`{"i":%d}`, i)), string(got))
				}
			})
		}
		wg.Wait()
	})
}

func TestMoreRequestsThanHandlersAreAnsweredOverloaded(t *testing.T) {
	dial, respond := dialConfig(), responderConfig()
	dial.Limits.Handlers, respond.Limits.Handlers = 3, 3
	bothWays(t, dial, respond, func(t *testing.T, caller, server *connect.Session) {
		release := make(chan struct{})
		require.NoError(t, server.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { <-release; return 1, nil }))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := caller.InvokeTool(t.Context(), otherTool, nil)
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		_, err := caller.InvokeTool(t.Context(), otherTool, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "overloaded"})
		close(release)
		wg.Wait()
		_, err = caller.InvokeTool(t.Context(), otherTool, nil)
		require.NoError(t, err)
	})
}

func TestAHandlerMayCloseItsOwnSession(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		require.NoError(t, server.RegisterToolHandler(otherTool, func(ctx context.Context, _ json.RawMessage) (any, error) {
			s, _ := connect.SessionFromContext(ctx)
			s.Close()
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		_, err := caller.InvokeTool(t.Context(), otherTool, nil)
		assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
		assert.NoError(t, server.Wait(), "its own Close is no error")
		assert.ErrorIs(t, caller.Wait(), connect.ErrSessionClosed)
	})
}

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
			assert.Less(t, most-before, 10, "goroutines")
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

func TestFramesThatAreNoEnvelopeAreIgnored(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		honest := func(change func(doc object)) json.RawMessage {
			return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), change)
		}
		for name, frame := range map[string]json.RawMessage{
			"an empty object":             raw(`{}`),
			"a list":                      raw(`[]`),
			"null":                        raw(`null`),
			"text":                        raw(`"x"`),
			"a number":                    raw(`5`),
			"an unknown object":           raw(`{"hello":"world"}`),
			"a session id that is a list": honest(func(d object) { d["session_id"] = []int{} }),
			"a long session id":           honest(func(d object) { d["session_id"] = strings.Repeat("s", 129) }),
			"a long request id":           honest(func(d object) { d["request_id"] = strings.Repeat("s", 129) }),
			"an op that is null":          honest(func(d object) { d["op"] = nil }),
			"a long op":                   honest(func(d object) { d["op"] = strings.Repeat("o", 257) }),
			"a sequence that is text":     honest(func(d object) { d["sequence"] = "0" }),
			"a negative sequence":         honest(func(d object) { d["sequence"] = -1 }),
			"a fractional sequence":       honest(func(d object) { d["sequence"] = 0.5 }),
			"a sequence above 2^53-1":     honest(func(d object) { d["sequence"] = 9007199254740992 }),
			"an op without a payload":     honest(func(d object) { delete(d, "payload") }),
			"a response nobody waits for": honest(func(d object) { delete(d, "op") }),
		} {
			p.send(frame)
			p.requireWorks()
			assert.Equal(t, connect.Established, s.State(), name)
		}
	})
}

func TestASequenceOfTheSameValueIsTheSameSequence(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		p.requireWorks()
		frame := p.sign(connect.RequestEnvelope, p.toolRequest(echoTool))
		sent := strings.Replace(string(frame), `"sequence":1`, `"sequence": 10.0e-1`, 1)
		require.NotEqual(t, string(frame), sent)
		p.sequence++
		p.send(json.RawMessage(sent))
		require.NotNil(t, p.recv()["payload"])
	})
}

func TestAMalformedFrameEndsTheSession(t *testing.T) {
	for name, frame := range map[string]string{
		"no JSON":            `hello`,
		"a duplicate name":   `{"a":1,"a":1}`,
		"invalid UTF-8":      "{\"a\":\"\xff\"}",
		"a lone surrogate":   `{"a":"\udfff"}`,
		"an infinite number": `{"a":1e999}`,
		"too deep":           strings.Repeat("[", 257) + strings.Repeat("]", 257),
		"text behind it":     `{}{}`,
		"nothing":            ``,
		"too large":          `{"a":"` + strings.Repeat("x", 4<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				waiting := make(chan error, 1)
				go func() { _, err := s.InvokeTool(t.Context(), otherTool, nil); waiting <- err }()
				p.recv()
				p.send(json.RawMessage(frame))
				assert.ErrorIs(t, s.Wait(), connect.ErrMalformedFrame)
				assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(<-waiting))
				_, err := p.transport.Recv(t.Context())
				assert.Error(t, err, "the transport is closed")
			})
		})
	}
}

type panicJSON struct{}

func (panicJSON) MarshalJSON() ([]byte, error) { panic("secret") }

func TestAToolSourceThatPanicsOrBlocksHarmsOneRequestOnly(t *testing.T) {
	source := func(id string) (spoke.ToolHandler, bool) {
		switch id {
		case otherTool:
			panic("secret")
		case slowTool:
			select {}
		}
		return echo, true
	}
	dial, respond := dialConfig(), responderConfig()
	dial.Tools, respond.Tools = sourceFunc(source), sourceFunc(source)
	eachRoleWith(t, func() connect.DialConfig { return dial },
		func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
		func(t *testing.T, s *connect.Session, p *wirePeer) {
			assert.Equal(t, "INTERNAL_ERROR", errorOf(p.askNext(otherTool, object{"arguments": object{}})))
			p.requireWorks()
		})
}

type sourceFunc func(id string) (spoke.ToolHandler, bool)

func (f sourceFunc) ToolHandler(id string) (spoke.ToolHandler, bool) { return f(id) }

func TestLargeAnswersWaitForRoomAndAreRefusedOnlyWhenTooManyWait(t *testing.T) {
	for name, c := range map[string]struct {
		calls   int
		refused bool
	}{
		"as many as may wait for room": {calls: 16 + 3 + 9, refused: false},
		"many more":                    {calls: 80, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			dial.Limits.PendingReplyBytes, respond.Limits.PendingReplyBytes = 100<<10, 100<<10
			eachRoleWith(t, func() connect.DialConfig { return dial },
				func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
				func(t *testing.T, s *connect.Session, p *wirePeer) {
					big := strings.Repeat("x", 30<<10)
					require.NoError(t, s.RegisterToolHandler(otherTool, func(context.Context, json.RawMessage) (any, error) { return big, nil }))
					for range c.calls {
						p.send(p.sign(connect.RequestEnvelope, p.toolRequest(otherTool)))
						p.sequence++
					}
					synctest.Wait()
					refused := 0
					for range c.calls {
						if answer := p.recv(); answer["payload"] == nil {
							assert.Equal(t, "INTERNAL_ERROR/result", errorOf(answer))
							refused++
						}
					}
					assert.Equal(t, c.refused, refused > 0, "%d refused", refused)
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

func TestAToolOutsideTheGrammarIsNeverServedNorSent(t *testing.T) {
	dial, respond := dialConfig(), responderConfig()
	for _, id := range []string{"tools.x", "tools.BAD.id", "tools.a.b\n"} {
		dial.Manifest.Capabilities = append(dial.Manifest.Capabilities, id)
		respond.Manifest.Capabilities = append(respond.Manifest.Capabilities, id)
		dial.Tools.(spoke.ToolHandlers)[id] = echo
		respond.Tools.(spoke.ToolHandlers)[id] = echo
	}
	eachRoleWith(t, func() connect.DialConfig { return dial },
		func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
		func(t *testing.T, s *connect.Session, p *wirePeer) {
			for _, id := range []string{"tools.x", "tools.BAD.id", "tools.a.b\n"} {
				assert.Equal(t, "op_unsupported", errorOf(p.askNext(id, object{"arguments": object{}})))
				_, err := s.Invoke(t.Context(), id, object{"arguments": object{}})
				requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": id})
			}
			p.requireWorks()
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

func TestAHostsOwnSchemaMayRecurse(t *testing.T) {
	dial, respond := dialConfig(), responderConfig()
	tree := raw(`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`)
	dial.Manifest.Tools[0].Input, respond.Manifest.Tools[0].Input = tree, tree
	bothWays(t, dial, respond, func(t *testing.T, caller, server *connect.Session) {
		_, err := caller.InvokeTool(t.Context(), echoTool, raw(`{"children":[{"children":[{}]}]}`))
		require.NoError(t, err)
		_, err = caller.InvokeTool(t.Context(), echoTool, raw(`{"children":[{"leaf":1}]}`))
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	})
}
