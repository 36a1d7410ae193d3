package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

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
