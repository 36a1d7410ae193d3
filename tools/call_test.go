package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func TestErrorsOfAToolBecomeRejects(t *testing.T) {
	plain := errors.New("password is hunter2")
	for name, c := range map[string]struct {
		err     error
		expose  bool
		code    spoke.Code
		details map[string]any
		message string
	}{
		"a reject passes through": {spoke.Rejectf(spoke.CodeRevisionConflict, "moved").WithDetail("a", 1.0), false,
			spoke.CodeRevisionConflict, map[string]any{"a": 1.0}, "moved"},
		"so does one that is wrapped": {fmt.Errorf("secret: %w", spoke.Rejectf(spoke.CodeRelationNotFound, "gone")), false,
			spoke.CodeRelationNotFound, nil, "gone"},
		"a failure keeps its code": {&tools.Failure{Code: "disk_full", Message: "no room", Retryable: true, Details: map[string]any{"free": 0.0}}, false,
			spoke.CodeInternalError, map[string]any{"tool_code": "disk_full", "retryable": true, "free": 0.0}, "no room"},
		"any other error is told nothing about": {plain, false, spoke.CodeInternalError, nil, "the tool failed"},
		"unless the tool says so":               {fmt.Errorf("open: %w", plain), true, spoke.CodeInternalError, nil, "open: password is hunter2"},
		"a failure that is wrapped":             {fmt.Errorf("secret: %w", &tools.Failure{Code: "c", Message: "m"}), true, spoke.CodeInternalError, map[string]any{"tool_code": "c"}, "m"},
		"a nil reject":                          {(*spoke.Reject)(nil), false, spoke.CodeInternalError, nil, "the tool failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, failing(c.err).With(tools.Metadata{ExposeErrors: c.expose}))
			_, err := r.InvokeTool(t.Context(), echoID, nil)
			reject := requireReject(t, err, c.code, c.details)
			assert.Equal(t, c.message, reject.Message)
			assert.NotContains(t, reject.Error(), "secret")
		})
	}
}

func TestAFailureIsReadBackOnTheOtherSide(t *testing.T) {
	sent := &tools.Failure{Code: "disk_full", Message: "no room", Retryable: true, Details: map[string]any{"free": 0.0}}
	_, err := open(t, failing(sent)).InvokeTool(t.Context(), echoID, nil)
	got, ok := tools.FailureOf(rejectOf(t, err).Envelope().Reject())
	require.True(t, ok)
	assert.Equal(t, sent, got)
	local, ok := tools.FailureOf(err)
	require.True(t, ok)
	assert.Same(t, sent, local)
	for _, err := range []error{nil, errors.New("x"), spoke.Rejectf(spoke.CodeInternalError, "x")} {
		_, ok := tools.FailureOf(err)
		assert.False(t, ok)
	}
}

func TestAPanicIsOneFailedCallAndStaysInTheLog(t *testing.T) {
	panicking := func(context.Context, struct{}) (any, error) { panic("hunter2") }
	inMiddleware := func(tools.CallFunc) tools.CallFunc {
		return func(context.Context, *tools.Invocation) (json.RawMessage, error) { panic("hunter2") }
	}
	for name, middleware := range map[string][]tools.Middleware{"in the tool": nil, "in middleware": {inMiddleware}} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Middleware: middleware, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, r.Register(tools.New(echoID, "d", panicking).With(tools.Metadata{ExposeErrors: true, Concurrency: 1})))
			for range 2 { // the place of the call is free again
				_, err := r.InvokeTool(t.Context(), echoID, nil)
				reject := requireReject(t, err, spoke.CodeInternalError, nil)
				assert.NotContains(t, reject.Error(), "hunter2")
				var cause *tools.PanicError
				require.ErrorAs(t, err, &cause)
				assert.Equal(t, "hunter2", cause.Value)
			}
			assert.Contains(t, log.String(), "hunter2")
		})
	}
}

func TestAResultIsCheckedAndCanonical(t *testing.T) {
	output := json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"a map":                      {map[string]any{"z": nil, "n": 2}, `{"n":2,"z":null}`},
		"raw JSON":                   {json.RawMessage(` {"z":[], "n":2.0}`), `{"n":2,"z":[]}`},
		"a value that does not fit":  {map[string]any{"n": "2"}, ""},
		"no value":                   {nil, ""},
		"a number that is not exact": {json.RawMessage(`{"n":9007199254740993}`), ""},
		"a value that is no JSON":    {math.NaN(), ""},
		"text that is no JSON":       {json.RawMessage(`{"n":`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := spoke.ToolDescriptor{CapabilityID: echoID, Description: "d", Output: output}
			r := open(t, tools.Raw(d, func(context.Context, json.RawMessage) (any, error) { return c.value, nil }))
			got, err := r.InvokeTool(t.Context(), echoID, nil)
			if c.want != "" {
				require.NoError(t, err)
				assert.Equal(t, c.want, string(got))
				return
			}
			reject := rejectOf(t, err)
			assert.Equal(t, spoke.CodeInternalError, reject.Code)
			assert.Equal(t, spoke.KindResult, reject.Kind())
		})
	}
}

func TestARawToolGetsCanonicalCheckedArguments(t *testing.T) {
	var seen []string
	d := spoke.ToolDescriptor{CapabilityID: echoID, Description: "d", Input: json.RawMessage(`{"properties":{"a":{"type":"string"}}}`)}
	r := open(t, tools.Raw(d, func(_ context.Context, args json.RawMessage) (any, error) {
		seen = append(seen, string(args))
		return nil, nil
	}))
	for _, args := range []any{nil, json.RawMessage(nil), json.RawMessage(`{"b": 1.0, "a": "x"}`), map[string]any{"a": "x"}} {
		_, err := r.InvokeTool(t.Context(), echoID, args)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{`{}`, `{}`, `{"a":"x","b":1}`, `{"a":"x"}`}, seen)
	for _, args := range []any{json.RawMessage(`[]`), json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":9007199254740993}`),
		json.RawMessage(`{"a":"x","a":"y"}`), json.RawMessage(`null`), 5, make(chan int)} {
		_, err := r.InvokeTool(t.Context(), echoID, args)
		reject := rejectOf(t, err)
		assert.Equal(t, spoke.CodeInvalidInput, reject.Code)
		assert.Equal(t, "arguments", reject.Details["field"])
	}
	assert.Len(t, seen, 4, "a refused call does not reach the tool")
}

func TestALocalCallIsRefusedAsAPeersWouldBe(t *testing.T) {
	r := open(t)
	_, err := r.InvokeTool(t.Context(), "tools.A.b", nil)
	requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": "tools.A.b"})
	_, err = r.InvokeTool(t.Context(), "tools.a.b", nil)
	requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"kind": tools.KindNotFound, "capability_id": "tools.a.b"})
	_, err = r.InvokeTool(t.Context(), "tools.a.b", json.RawMessage(`[]`))
	requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"field": "arguments"})
	_, ok := r.ToolHandler("tools.a.b")
	assert.False(t, ok)
}

func TestAvailabilityIsAskedJustBeforeEachExecution(t *testing.T) {
	state, asked, ran := tools.Available(), 0, 0
	tool := tools.New(echoID, "d", func(context.Context, struct{}) (any, error) { ran++; return nil, nil }).
		With(tools.Metadata{Probe: func(context.Context) tools.Availability { asked++; return state }})
	r := open(t, tool)
	_, err := r.InvokeTool(t.Context(), echoID, nil)
	require.NoError(t, err)
	state = tools.Availability{Code: "no_disk", Reason: "the disk is out", RequiredState: "mounted", Remediation: "mount it", Retryable: true}
	_, err = r.InvokeTool(t.Context(), echoID, nil)
	requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": tools.KindUnavailable, "capability_id": echoID,
		"available": false, "code": "no_disk", "reason": "the disk is out", "requiredState": "mounted", "remediation": "mount it", "retryable": true})
	assert.Equal(t, state, tool.Availability(t.Context()))
	told, ok := tools.AvailabilityOf(fmt.Errorf("call: %w", err))
	assert.True(t, ok)
	assert.Equal(t, state, told)
	for _, err := range []error{nil, errors.New("x"), spoke.Rejectf(spoke.CodeInternalError, "x")} {
		_, ok := tools.AvailabilityOf(err)
		assert.False(t, ok)
	}
	assert.Equal(t, 1, ran)
	assert.Equal(t, 3, asked)
	assert.Len(t, r.List(t.Context()), 1, "an unavailable tool is listed all the same")
}

func TestAProbeThatPanicsMeansUnavailable(t *testing.T) {
	tool := named(echoID, "read").With(tools.Metadata{Probe: func(context.Context) tools.Availability { panic("hunter2") }})
	assert.False(t, tool.Availability(t.Context()).Available)
	_, err := open(t, tool).InvokeTool(t.Context(), echoID, nil)
	reject := rejectOf(t, err)
	assert.Equal(t, tools.KindUnavailable, reject.Kind())
	assert.NotContains(t, reject.Error(), "hunter2")
	assert.False(t, named(echoID, "read").With(tools.Metadata{Probe: func(context.Context) tools.Availability {
		return tools.Availability{}
	}}).Availability(t.Context()).Available, "the zero state is unavailable")
}

func TestATimeoutEndsTheProbesContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := named(echoID, "read").With(tools.Metadata{Timeout: time.Second, Probe: func(ctx context.Context) tools.Availability {
			<-ctx.Done()
			return tools.Unavailable("slow", "")
		}})
		started := time.Now()
		assert.Equal(t, tools.Unavailable("slow", ""), tool.Availability(t.Context()))
		assert.Equal(t, time.Second, time.Since(started))
	})
}

func TestATimeoutEndsTheToolsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context, _ struct{}) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := open(t, tools.New(echoID, "d", wait).With(tools.Metadata{Timeout: time.Second, ExposeErrors: true}))
		started := time.Now()
		_, err := r.InvokeTool(t.Context(), echoID, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindTimeout})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(started))

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = r.InvokeTool(ctx, echoID, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindTimeout})
		assert.Equal(t, time.Second+time.Millisecond, time.Since(started), "the caller's deadline counts too")

		_, err = r.InvokeTool(ctx, echoID, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindTimeout})
	})
}

func TestACallersCancelIsItsOwnKind(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := open(t, tools.New(echoID, "d", func(ctx context.Context, _ struct{}) (any, error) {
		cancel()
		<-ctx.Done()
		return nil, errors.New("gave up")
	}))
	for range 2 {
		_, err := r.InvokeTool(ctx, echoID, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindCanceled})
		assert.ErrorIs(t, err, context.Canceled)
	}
}

func TestCallsBeyondTheConcurrencyLimitAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		tool := tools.New(echoID, "d", func(context.Context, struct{}) (any, error) { <-release; return nil, nil }).
			With(tools.Metadata{Concurrency: 2})
		r := open(t, tool)
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() {
				_, err := r.InvokeTool(t.Context(), echoID, nil)
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		for range 3 { // a refused call takes no place
			_, err := r.Lower(tools.PolicyCritical).InvokeTool(t.Context(), echoID, nil)
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindOverloaded, "capability_id": echoID})
		}
		close(release)
		running.Wait()
		_, err := r.InvokeTool(t.Context(), echoID, nil)
		assert.NoError(t, err)
	})
}

func TestMiddlewareWrapsEveryCallInOrder(t *testing.T) {
	var trace []string
	note := func(name string) tools.Middleware {
		return func(next tools.CallFunc) tools.CallFunc {
			return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
				trace = append(trace, name+" "+call.Tool.ID()+" "+string(call.Arguments))
				result, err := next(ctx, call)
				trace = append(trace, name+" "+string(result)+" "+string(spoke.CodeOf(err)))
				return result, err
			}
		}
	}
	around := []tools.Middleware{note("outer"), note("inner")}
	r := tools.NewRegistry(tools.Config{Guard: tools.ReadOnly(), Middleware: around})
	around[0] = nil // the registry has its own list
	require.NoError(t, r.Register(named("tools.a.x", "read"), named("tools.a.y", "write"), failing(errors.New("x")).With(tools.Metadata{Policy: "read"})))

	_, err := r.InvokeTool(t.Context(), "tools.a.x", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"outer tools.a.x {}", "inner tools.a.x {}", `inner "tools.a.x" `, `outer "tools.a.x" `}, trace)

	trace = nil
	_, err = r.InvokeTool(t.Context(), "tools.a.y", nil)
	assert.Equal(t, tools.KindDenied, spoke.KindOf(err))
	assert.Equal(t, "outer  CAPABILITY_PORT_MISSING", trace[3], "refusals are seen")

	trace = nil
	_, err = r.InvokeTool(t.Context(), echoID, nil)
	assert.Error(t, err)
	assert.Equal(t, "inner  INTERNAL_ERROR", trace[2])
}

func TestMiddlewareCanRefuseAndChangeCalls(t *testing.T) {
	authorise := func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			caller, ok := spoke.CallerFromContext(ctx)
			switch {
			case !ok:
				return nil, errors.New("hunter2")
			case caller.PeerID == "stranger":
				return nil, spoke.Rejectf(spoke.CodeInvalidInput, "not you")
			}
			changed := *call
			changed.Arguments = text(`{"by":%q}`, caller.PeerID)
			return next(ctx, &changed)
		}
	}
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Middleware: []tools.Middleware{authorise}})
	require.NoError(t, r.Register(echo[map[string]string](t)))
	got, err := r.InvokeTool(spoke.WithCaller(t.Context(), spoke.Caller{PeerID: "friend"}), echoID, nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"by":"friend"}`, string(got))
	_, err = r.InvokeTool(spoke.WithCaller(t.Context(), spoke.Caller{PeerID: "stranger"}), echoID, nil)
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	_, err = r.InvokeTool(t.Context(), echoID, nil)
	reject := requireReject(t, err, spoke.CodeInternalError, nil)
	assert.NotContains(t, reject.Error(), "hunter2")
}

// A call that a middleware makes up by itself has no ceiling and so no right to run.
func TestAnInvocationThatIsMadeUpIsDenied(t *testing.T) {
	forge := func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			return next(ctx, &tools.Invocation{Tool: call.Tool, Arguments: call.Arguments})
		}
	}
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Middleware: []tools.Middleware{forge}})
	require.NoError(t, r.Register(named("tools.a.x", "read")))
	_, err := r.InvokeTool(t.Context(), "tools.a.x", nil)
	assert.Equal(t, tools.KindDenied, spoke.KindOf(err))
}
