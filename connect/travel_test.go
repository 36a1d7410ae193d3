package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

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
