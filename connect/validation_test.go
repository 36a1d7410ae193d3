package connect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

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
