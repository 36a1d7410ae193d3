package remotetool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/tools"
)

func TestABatchCountsAsTheSpecSays(t *testing.T) {
	p := providerOf(t, jsonEcho(), tool("tools.t.fails", "", "", failing(errors.New("x")), tools.Metadata{}))
	const good, bad = `{"toolId":"json.echo","callId":"g"}`, `{"toolId":"t.fails","callId":"b"}`
	const goodItem = `"callId":"g","toolId":"json.echo","success":true,"result":{}}`
	const badItem = `"callId":"b","toolId":"t.fails","success":false,"message":"the tool failed","error":{"code":"tool_execution_failed","message":"the tool failed","retryable":false}}`
	const noItem = `"success":false,"message":"a call must be an object","error":{"code":"tool_batch_call_invalid","message":"a call must be an object","retryable":false}}`
	for _, c := range []struct{ name, calls, more, want string }{
		{"all succeed", good + `,` + good, ``,
			`{"success":true,"completed":2,"requested":2,"stoppedEarly":false,"results":[{"index":0,` + goodItem + `,{"index":1,` + goodItem + `]}`},
		{"the first failure is the last call", good + `,` + bad + `,` + good, ``,
			`{"success":false,"completed":2,"requested":3,"stoppedEarly":true,"results":[{"index":0,` + goodItem + `,{"index":1,` + badItem + `]}`},
		{"a failure at the end stops nothing early", good + `,` + bad, `,"continueOnError":null`,
			`{"success":false,"completed":2,"requested":2,"stoppedEarly":false,"results":[{"index":0,` + goodItem + `,{"index":1,` + badItem + `]}`},
		{"it goes on where it shall", bad + `,` + good, `,"continueOnError":true`,
			`{"success":false,"completed":2,"requested":2,"stoppedEarly":false,"results":[{"index":0,` + badItem + `,{"index":1,` + goodItem + `]}`},
		{"an item that is no object is not dispatched", `1,` + good, `,"continueOnError":true`,
			`{"success":false,"completed":1,"requested":2,"stoppedEarly":false,"results":[{"index":0,` + noItem + `,{"index":1,` + goodItem + `]}`},
		{"an item that is no object stops the batch", `[],` + good, `,"continueOnError":false`,
			`{"success":false,"completed":0,"requested":2,"stoppedEarly":true,"results":[{"index":0,` + noItem + `]}`},
		{"an item without a tool", `{}`, ``,
			`{"success":false,"completed":1,"requested":1,"stoppedEarly":false,"results":[{"index":0,"success":false,"message":"toolId is missing","error":{"code":"tool_call_missing_id","message":"toolId is missing","retryable":false}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, got := p.Handle(t.Context(), TypeBatch, raw(`{"calls":[%s]%s}`, c.calls, c.more))
			require.Equal(t, TypeBatchResult, kind, "%s", got)
			assert.JSONEq(t, c.want, string(got))
		})
	}
}

func TestABatchOfAnotherSizeOrShapeIsRefused(t *testing.T) {
	p := providerOf(t, tool("tools.t.never", "", "", func(context.Context, json.RawMessage) (any, error) {
		t.Error("a call was made")
		return nil, nil
	}, tools.Metadata{}))
	item := `{"toolId":"t.never"}`
	list := func(n int) string { return `{"calls":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}` }
	for _, c := range []struct {
		name, payload string
		code          Code
	}{
		{"no payload", ``, CodeBatchPayloadInvalid},
		{"a list", `[]`, CodeBatchPayloadInvalid},
		{"no calls", `{}`, CodeBatchPayloadInvalid},
		{"calls that are null", `{"calls":null}`, CodeBatchPayloadInvalid},
		{"calls that are an object", `{"calls":{}}`, CodeBatchPayloadInvalid},
		{"a continueOnError that is a text", `{"calls":[` + item + `],"continueOnError":"true"}`, CodeBatchPayloadInvalid},
		{"none", list(0), CodeBatchSizeInvalid},
		{"33", list(33), CodeBatchSizeInvalid},
		{"1,000", list(1000), CodeBatchSizeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, string(c.code), text(answerOf(t, p, TypeBatch, TypeError, c.payload), "code"))
		})
	}
}

func TestABatchOf32RunsInOrder(t *testing.T) {
	var seen []string
	p := providerOf(t, tool("tools.t.note", "", "", func(_ context.Context, args json.RawMessage) (any, error) {
		seen = append(seen, string(args))
		return nil, nil
	}, tools.Metadata{}))
	var calls, want []string
	for i := range 32 {
		want = append(want, string(raw(`{"i":%d}`, i)))
		calls = append(calls, string(raw(`{"toolId":"t.note","arguments":{"i":%d}}`, i)))
	}
	answerOf(t, p, TypeBatch, TypeBatchResult, `{"calls":[`+strings.Join(calls, ",")+`]}`)
	assert.Equal(t, want, seen)
}

func TestTheEndOfTheContextStopsABatchBetweenItsCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := providerOf(t, tool("tools.t.cancel", "", "", func(context.Context, json.RawMessage) (any, error) {
		cancel()
		return 1, nil
	}, tools.Metadata{}))
	_, got := p.Handle(ctx, TypeBatch, raw(`{"calls":[{"toolId":"t.cancel"},{"toolId":"t.cancel"}],"continueOnError":true}`))
	assert.JSONEq(t, `{"success":false,"completed":1,"requested":2,"stoppedEarly":true,"results":[{"index":0,"toolId":"t.cancel","success":true,"result":1}]}`, string(got))
}

func TestACallOfABatchCanAskForEvidence(t *testing.T) {
	p := providerOf(t, uiTools(echoing)...)
	m := answerOf(t, p, TypeBatch, TypeBatchResult, `{"calls":[{"toolId":"t.tap","after":{}},{"toolId":"t.tap"}]}`)
	assert.Equal(t, 1, strings.Count(string(m["results"]), "evidence"))
}
