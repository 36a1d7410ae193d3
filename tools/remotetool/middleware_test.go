package remotetool

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/tools"
)

// around is a provider whose calls of a tool go through a middleware.
func around(t testing.TB, id string, wrap func(r *tools.Registry, next tools.CallFunc) tools.CallFunc, list ...*tools.Tool) *Provider {
	t.Helper()
	var r *tools.Registry
	r = tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Middleware: []tools.Middleware{
		func(next tools.CallFunc) tools.CallFunc {
			return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
				if call.Tool.ID() != id {
					return next(ctx, call)
				}
				return wrap(r, next)(ctx, call)
			}
		},
	}})
	require.NoError(t, r.Register(list...))
	return NewProvider(r, ProviderConfig{})
}

func TestAMiddlewareMayCallAnotherToolFirst(t *testing.T) {
	checking := func(r *tools.Registry, next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			if _, err := r.InvokeTool(ctx, "tools.t.check", map[string]string{"tool": call.Tool.ID()}); err != nil {
				return nil, err
			}
			return next(ctx, call)
		}
	}
	p := around(t, "tools.t.echo", checking, tool("tools.t.check", "", "", echoing, tools.Metadata{}),
		tool("tools.t.echo", closedInput, `{"required":["n"]}`, echoing, tools.Metadata{}))
	answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.echo","arguments":{"n":1}}`)
	assert.Equal(t, string(CodeArgumentsSchemaInvalid), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.echo","arguments":{"n":"1"}}`), "code"))
	assert.Equal(t, string(CodeArgumentsInvalid), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.echo","arguments":[]}`), "code"))
}

func TestAToolThatAMiddlewarePutsInAnothersPlaceHasItsOwnSchemas(t *testing.T) {
	ran := 0
	other := tool("tools.t.other", `{"type":"object","required":["m"]}`, "", func(context.Context, json.RawMessage) (any, error) {
		ran++
		return "other", nil
	}, tools.Metadata{})
	redirecting := func(_ *tools.Registry, next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			changed := *call
			changed.Tool = other
			return next(ctx, &changed)
		}
	}
	p := around(t, "tools.t.echo", redirecting, tool("tools.t.echo", closedInput, `{"type":"integer"}`, echoing, tools.Metadata{}))
	m := answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.echo","arguments":{"m":1}}`)
	assert.Equal(t, `"other"`, string(m["result"]))
	assert.Equal(t, string(CodeArgumentsSchemaInvalid), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.echo","arguments":{"n":1}}`), "code"))
	assert.Equal(t, string(CodeArgumentsInvalid), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.echo","arguments":[]}`), "code"))
	assert.Equal(t, 1, ran)
}
