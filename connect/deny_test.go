package connect_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

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
