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

// invoker is a [spoke.ToolInvoker] of one function.
type invoker func(ctx context.Context, id string, args any) (json.RawMessage, error)

func (f invoker) InvokeTool(ctx context.Context, id string, args any) (json.RawMessage, error) {
	return f(ctx, id, args)
}

// answering counts its calls and fails those of the given ids.
func answering(calls *[]string, bad ...string) invoker {
	return func(_ context.Context, id string, args any) (json.RawMessage, error) {
		*calls = append(*calls, id)
		for _, b := range bad {
			if id == b {
				return nil, spoke.Rejectf(spoke.CodeRelationNotFound, "bad")
			}
		}
		return json.RawMessage(`"` + id + `"`), nil
	}
}

func TestOrchestrateGatesThenBlamesThenInvokes(t *testing.T) {
	var calls []string
	_, err := tools.Orchestrate(t.Context(), answering(&calls), "tools.Bad.x", nil)
	requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": "tools.Bad.x"})
	_, err = tools.Orchestrate(t.Context(), nil, "tools.Bad.x", nil)
	requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": "tools.Bad.x"})
	_, err = tools.Orchestrate(t.Context(), nil, "tools.a.x", nil)
	requireReject(t, err, spoke.CodeCapabilityPortMissing, map[string]any{"capability": "tools.a.x"})
	assert.Empty(t, calls)

	want := errors.New("as it is")
	args := map[string]int{"a": 1}
	got, err := tools.Orchestrate(t.Context(), invoker(func(_ context.Context, id string, a any) (json.RawMessage, error) {
		assert.Equal(t, args, a)
		return json.RawMessage(` as it is `), want
	}), "tools.a.x", args)
	assert.Same(t, want, err)
	assert.Equal(t, " as it is ", string(got))
}

func TestCallEncodesAndDecodes(t *testing.T) {
	type args struct {
		A []int `json:"a"`
	}
	r := open(t, echo[args](t))
	got, err := tools.Call[args, args](t.Context(), r, echoID, args{})
	require.NoError(t, err)
	assert.Equal(t, args{A: []int{}}, got, "a nil list travels as []")
	raw, err := tools.Call[any, json.RawMessage](t.Context(), r, echoID, map[string]any{"a": []int{1}})
	require.NoError(t, err)
	assert.Equal(t, `{"a":[1]}`, string(raw))
	part, err := tools.Call[args, struct{}](t.Context(), r, echoID, args{})
	require.NoError(t, err, "members that Out does not have are skipped")
	assert.Zero(t, part)

	_, err = tools.Call[args, int](t.Context(), r, echoID, args{})
	requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindTransport})
	_, err = tools.Call[args, args](t.Context(), nil, echoID, args{})
	assert.Equal(t, spoke.CodeCapabilityPortMissing, spoke.CodeOf(err))
	_, err = tools.Call[string, args](t.Context(), r, echoID, "no object")
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
}

func batchOf(ids ...string) []tools.BatchCall {
	var calls []tools.BatchCall
	for _, id := range ids {
		calls = append(calls, tools.BatchCall{ID: id})
	}
	return calls
}

func TestABatchRunsInOrderAndStopsOrContinues(t *testing.T) {
	const a, b, c = "tools.x.a", "tools.x.b", "tools.x.c"
	for name, row := range map[string]struct {
		mode  tools.BatchMode
		calls []string
	}{
		"stop on error":                 {tools.StopOnError, []string{c, b}},
		"continue on error":             {tools.ContinueOnError, []string{c, b, a, c}},
		"a mode that is none, it stops": {tools.BatchMode(9), []string{c, b}},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			results, err := tools.Batch(t.Context(), answering(&calls, b), batchOf(c, b, a, c), row.mode)
			require.NoError(t, err)
			assert.Equal(t, row.calls, calls)
			require.Len(t, results, len(row.calls))
			for i, r := range results {
				if calls[i] == b {
					assert.Equal(t, spoke.CodeRelationNotFound, spoke.CodeOf(r.Err))
					assert.Nil(t, r.Result)
				} else {
					assert.NoError(t, r.Err)
					assert.Equal(t, `"`+calls[i]+`"`, string(r.Result))
				}
			}
		})
	}
}

func TestABatchHas1To32Calls(t *testing.T) {
	var calls []string
	full := make([]tools.BatchCall, tools.MaxBatch)
	for i := range full {
		full[i].ID = echoID
	}
	results, err := tools.Batch(t.Context(), answering(&calls), full, tools.StopOnError)
	require.NoError(t, err)
	assert.Len(t, results, 32)
	calls = nil
	for _, bad := range [][]tools.BatchCall{nil, append(full, tools.BatchCall{ID: echoID})} {
		results, err := tools.Batch(t.Context(), answering(&calls), bad, tools.ContinueOnError)
		requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"field": "calls"})
		assert.Nil(t, results)
	}
	assert.Empty(t, calls)
}

func TestACancelledContextStopsABatchBetweenCalls(t *testing.T) {
	for _, mode := range []tools.BatchMode{tools.StopOnError, tools.ContinueOnError} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls []string
		inner := answering(&calls)
		results, err := tools.Batch(ctx, invoker(func(ctx context.Context, id string, args any) (json.RawMessage, error) {
			if len(calls) == 1 {
				cancel() // in the middle of the second call, which still finishes
			}
			return inner(ctx, id, args)
		}), batchOf("tools.x.a", "tools.x.b", "tools.x.c"), mode)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": spoke.KindCanceled})
		assert.ErrorIs(t, err, context.Canceled)
		assert.Len(t, results, 2)
		assert.NoError(t, results[1].Err)
		assert.Len(t, calls, 2)
		cancel()
	}
}

func TestABatchOverNobodyBlamesEachCall(t *testing.T) {
	results, err := tools.Batch(t.Context(), nil, batchOf("tools.x.a", "tools.X.b"), tools.ContinueOnError)
	require.NoError(t, err)
	assert.Equal(t, spoke.CodeCapabilityPortMissing, spoke.CodeOf(results[0].Err))
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(results[1].Err))
}
