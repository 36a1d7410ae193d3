package remotetool

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
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

// afterwards is a middleware that puts what f says in the place of a success.
func afterwards(f func() (json.RawMessage, error)) func(*tools.Registry, tools.CallFunc) tools.CallFunc {
	return func(_ *tools.Registry, next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			if _, err := next(ctx, call); err != nil {
				return nil, err
			}
			return f()
		}
	}
}

func TestWhatAMiddlewareSaysOfACallThatRanIsNotTheResultsFault(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code string
	}{
		{"a failure", &tools.Failure{Code: "audit_failed", Message: "The log is full."}, "audit_failed"},
		{"a reject", spoke.Rejectf(spoke.CodeRevisionConflict, "Too late."), "REVISION_CONFLICT"},
		{"another error", errors.New("secret"), string(CodeExecutionFailed)},
		{"the result of another call", spoke.Rejectf(spoke.CodeInternalError, "Bad.").WithKind(spoke.KindResult), string(CodeExecutionFailed)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := around(t, "tools.t.echo", afterwards(func() (json.RawMessage, error) { return nil, c.err }),
				tool("tools.t.echo", "", "", echoing, tools.Metadata{}), tool("tools.t.fails", "", "", failing(c.err), tools.Metadata{}))
			for _, id := range []string{"t.echo", "t.fails"} {
				assert.Equal(t, c.code, text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"`+id+`"}`), "code"), id)
			}
		})
	}
}

func TestAMiddlewareThatDoesNotWaitLeavesTheCallRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, json.RawMessage) (any, error) { time.Sleep(time.Second); return 1, nil }
		impatient := func(_ *tools.Registry, next tools.CallFunc) tools.CallFunc {
			return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
				go func() { _, _ = next(ctx, call) }()
				time.Sleep(time.Second)
				return nil, errors.New("too slow")
			}
		}
		p := around(t, "tools.t.slow", impatient, tool("tools.t.slow", "", "", slow, tools.Metadata{}))
		assert.Equal(t, string(CodeExecutionFailed), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.slow"}`), "code"))
		synctest.Wait()
	})
}

func TestWhatAMiddlewareAnswersIsJSONOrAFailure(t *testing.T) {
	for answer, code := range map[string]Code{`{"a":1}`: "", ``: CodeResultSchemaInvalid, `{"a":`: CodeResultSchemaInvalid, `1}`: CodeResultSchemaInvalid} {
		p := around(t, "tools.t.echo", afterwards(func() (json.RawMessage, error) { return json.RawMessage(answer), nil }),
			tool("tools.t.echo", "", "", echoing, tools.Metadata{}))
		_, got := p.Handle(t.Context(), TypeCall, raw(`{"toolId":"t.echo"}`))
		m, err := membersOf(got)
		require.NoError(t, err, answer)
		assert.Equal(t, string(code), text(m, "code"), answer)
	}
}

func TestWhatIsWrongWithOneCallIsNotToldOfAnother(t *testing.T) {
	var first error // answers every later call as well
	repeating := func(_ *tools.Registry, next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			if first != nil {
				return nil, first
			}
			result, err := next(ctx, call)
			first = err
			return result, err
		}
	}
	p := around(t, "tools.t.echo", repeating, tool("tools.t.echo", closedInput, "", echoing, tools.Metadata{}))
	for _, c := range []struct {
		arguments string
		judged    bool
	}{{`{"n":"1"}`, true}, {`{"n":1}`, false}} {
		got := text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.echo","arguments":`+c.arguments+`}`), "code")
		assert.Equal(t, c.judged, got == string(CodeArgumentsSchemaInvalid), "%s: %s", c.arguments, got)
	}
}
