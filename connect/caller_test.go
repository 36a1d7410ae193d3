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

func TestAHandlersContextCarriesItsCaller(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		require.NoError(t, server.RegisterToolHandler(otherTool, func(ctx context.Context, _ json.RawMessage) (any, error) {
			c, ok := spoke.CallerFromContext(ctx)
			assert.True(t, ok)
			return []string{c.PeerID, c.SessionID}, nil
		}))
		got, err := caller.InvokeTool(t.Context(), otherTool, nil)
		require.NoError(t, err)
		assert.JSONEq(t, string(raw(`[%q,%q]`, caller.LocalPeerID(), caller.ID())), string(got))
	})
}
