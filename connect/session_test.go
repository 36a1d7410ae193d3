package connect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestBothSidesInvokeEachOther(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		got, err := caller.InvokeTool(t.Context(), echoTool, map[string]any{"b": 1, "a": []string{"x"}})
		require.NoError(t, err)
		assert.Equal(t, `{"a":["x"],"b":1}`, string(got))
		assert.Equal(t, caller.ID(), server.ID())
		assert.Equal(t, connect.Established, caller.State())
	})
}
