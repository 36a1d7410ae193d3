package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func TestATraceSeesOneCallAndNotTheCallsOfItsHandler(t *testing.T) {
	var seen []string
	var r *tools.Registry
	inner := tools.New("tools.test.inner", "Inner.", func(context.Context, struct{}) (int, error) { return 1, nil })
	outer := tools.New("tools.test.outer", "Outer.", func(ctx context.Context, _ struct{}) (int, error) {
		seen = append(seen, "handler")
		return tools.Call[any, int](ctx, r, "tools.test.inner", nil)
	})
	r = open(t, inner, outer)
	ctx := tools.WithTrace(t.Context(), tools.Trace{
		Arguments: func(t *tools.Tool, _ json.RawMessage) error { seen = append(seen, "arguments of "+t.ID()); return nil },
		Started:   func() { seen = append(seen, "started") },
		Result: func(_ *tools.Tool, result json.RawMessage) error {
			seen = append(seen, "result "+string(result))
			return nil
		},
	})
	_, err := r.InvokeTool(ctx, "tools.test.outer", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"arguments of tools.test.outer", "started", "handler", "result 1"}, seen)
}

func TestATraceStaysWithItsCallWhateverTheMiddlewareDoes(t *testing.T) {
	var seen []string
	var r *tools.Registry
	check := tools.New("tools.test.check", "Check.", func(context.Context, struct{}) (int, error) { return 1, nil })
	other := tools.New("tools.test.other", "Other.", func(context.Context, struct{}) (int, error) { return 2, nil })
	asking := func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			if call.Tool.ID() != echoID {
				return next(ctx, call)
			}
			if _, err := r.InvokeTool(ctx, check.ID(), nil); err != nil {
				return nil, err
			}
			changed := *call
			changed.Tool = other
			return next(ctx, &changed)
		}
	}
	r = tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Middleware: []tools.Middleware{asking}})
	require.NoError(t, r.Register(echo[struct{}](t), check))
	ctx := tools.WithTrace(t.Context(), tools.Trace{
		Arguments: func(t *tools.Tool, _ json.RawMessage) error { seen = append(seen, t.ID()); return nil },
		Result:    func(t *tools.Tool, _ json.RawMessage) error { seen = append(seen, t.ID()); return nil },
	})
	_, err := r.InvokeTool(ctx, echoID, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{other.ID(), other.ID()}, seen)
}

func TestATracesErrorEndsTheCallAndStaysInTheChain(t *testing.T) {
	refusal := errors.New("not these")
	r := open(t, tools.New(echoID, "Echo.", func(context.Context, struct{}) (int, error) { t.Error("it ran"); return 0, nil }))
	ctx := tools.WithTrace(t.Context(), tools.Trace{Arguments: func(*tools.Tool, json.RawMessage) error { return refusal }})
	_, err := r.InvokeTool(ctx, echoID, nil)
	assert.ErrorIs(t, err, refusal)
}

func TestATraceWordsWhatTheRegistryRefusesAndNothingElse(t *testing.T) {
	type in struct {
		N int `json:"n" minimum:"3"`
	}
	worded := errors.New("worded")
	var returned []bool
	trace := tools.Trace{Misfit: func(r *spoke.Reject, ran bool) error {
		returned = append(returned, ran)
		return r.WithCause(worded)
	}}
	sized := func(fail error) *tools.Tool {
		return tools.New(echoID, "Echo.", func(_ context.Context, i in) (in, error) { return in{i.N - 3}, fail })
	}
	for _, c := range []struct {
		name string
		n    int
		fail error
		want []bool
	}{
		{"arguments", 1, nil, []bool{false}},
		{"a result", 4, nil, []bool{true}},
		{"an error that looks like it", 4, spoke.Rejectf(spoke.CodeInternalError, "x").WithKind(spoke.KindResult), nil},
		{"nothing", 6, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			returned = nil
			_, err := open(t, sized(c.fail)).InvokeTool(tools.WithTrace(t.Context(), trace), echoID, in{c.n})
			assert.Equal(t, c.want, returned)
			assert.Equal(t, c.want != nil, errors.Is(err, worded), "%v", err)
		})
	}
}

func TestAToolOfFlattenedStringsGetsStringsAndNoChecks(t *testing.T) {
	type strict struct {
		N int `json:"n"`
	}
	d := tools.New(echoID, "Echo.", func(context.Context, strict) (strict, error) { return strict{}, nil }).Descriptor()
	r := open(t, tools.Raw(d, func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }).
		With(tools.Metadata{FlattenedStrings: true}))
	got, err := r.InvokeTool(t.Context(), echoID,
		text(`{"a":"x","b":true,"c":1.5,"d":null,"e":[1, {"f":null}],"g":{ "h" : "i" },"j":""}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"x","b":"true","c":"1.5","e":"[1,{\"f\":null}]","g":"{\"h\":\"i\"}","j":""}`, string(got))
}

func TestLookupFindsWhatTheGuardHides(t *testing.T) {
	r := tools.NewRegistry(tools.Config{})
	require.NoError(t, r.Register(echo[struct{}](t)))
	_, shown := r.Find(t.Context(), echoID)
	_, known := r.Lookup(echoID)
	assert.False(t, shown)
	assert.True(t, known)
}

func TestTheEffectiveGuardIsLoweredByTheViewAndTheCeiling(t *testing.T) {
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Ceiling: func(context.Context) tools.Policy { return tools.PolicyWrite }})
	assert.Equal(t, tools.ReadWrite(), r.EffectiveGuard(t.Context()))
	assert.Equal(t, tools.ReadOnly(), r.Lower(tools.PolicyRead).EffectiveGuard(t.Context()))
}

func TestAListingUnderAGuardAsksNothingElse(t *testing.T) {
	r := tools.NewRegistry(tools.Config{Ceiling: func(context.Context) tools.Policy { t.Error("it was asked"); return "" }})
	require.NoError(t, r.Register(named("tools.a.read", tools.PolicyRead), named("tools.a.write", tools.PolicyWrite)))
	assert.Equal(t, []string{"tools.a.read"}, idsOf(r.ListUnder(tools.ReadOnly())))
	assert.Empty(t, r.ListUnder(tools.Guard{Execution: true, MaxPolicy: tools.PolicyCritical}))
}
