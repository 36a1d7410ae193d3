package remotetool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

const (
	closedInput = `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","enum":["a","b"]},"d":{"type":"string","format":"date-time"},"l":{"type":"array","items":{"type":"number"}},"o":{"type":["string","null"]}},"required":["n"],"additionalProperties":false}`
)

func failing(err error) spoke.ToolHandler {
	return func(context.Context, json.RawMessage) (any, error) { return nil, err }
}

// zoo has a tool for every way in which a call can end.
func zoo(t *testing.T) *Provider {
	down := func(a tools.Availability) tools.Metadata {
		return tools.Metadata{Probe: func(context.Context) tools.Availability { return a }}
	}
	r := tools.NewRegistry(tools.Config{Guard: tools.ReadWrite()})
	require.NoError(t, r.Register(
		tool("tools.t.echo", closedInput, "", echoing, tools.Metadata{}),
		tool("tools.t.critical", "", "", echoing, tools.Metadata{Policy: tools.PolicyCritical, Probe: down(tools.Unavailable("x", "y")).Probe}),
		tool("tools.t.down", closedInput, "", echoing, down(tools.Unavailable("", ""))),
		tool("tools.t.busy", "", "", echoing, down(tools.Availability{Code: "app_busy", Reason: "It is busy.", RequiredState: "idle", Remediation: "Wait.", Retryable: true})),
		tool("tools.t.sick", "", "", echoing, tools.Metadata{Probe: func(context.Context) tools.Availability { panic("sick") }}),
		tool("tools.t.strict", `{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}`, "", echoing, tools.Metadata{}),
		tool("tools.t.own", "", "", failing(&tools.Failure{Code: "no_paper", Message: "Out of paper.", Retryable: true, Details: map[string]any{"tray": 2.0}}), tools.Metadata{}),
		tool("tools.t.reject", "", "", failing(spoke.Rejectf(spoke.CodeRevisionConflict, "Too late.")), tools.Metadata{}),
		tool("tools.t.invalid", "", "", failing(spoke.Rejectf(spoke.CodeInvalidInput, "Not that.")), tools.Metadata{}),
		tool("tools.t.fails", "", "", failing(errors.New("secret")), tools.Metadata{}),
		tool("tools.t.panics", "", "", func(context.Context, json.RawMessage) (any, error) { panic("secret") }, tools.Metadata{}),
		tool("tools.t.lies", "", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`,
			func(context.Context, json.RawMessage) (any, error) { return raw(`{"a":[1],"b":2}`), nil }, tools.Metadata{}),
		tool("tools.t.bounds", "", `{"type":"integer","maximum":3}`, func(context.Context, json.RawMessage) (any, error) { return 4, nil }, tools.Metadata{}),
		tool("tools.t.unsendable", "", "", func(context.Context, json.RawMessage) (any, error) { return make(chan int), nil }, tools.Metadata{}),
	))
	return NewProvider(r, ProviderConfig{})
}

func TestACallThatFailsSaysWhyInTheOrderOfTheSpec(t *testing.T) {
	p := zoo(t)
	for _, c := range []struct {
		name, payload string
		code          Code
	}{
		{"no payload", ``, CodeCallPayloadInvalid},
		{"a null payload", `null`, CodeCallPayloadInvalid},
		{"a list for a payload", `[]`, CodeCallPayloadInvalid},
		{"a tool id that is no text", `{"toolId":1}`, CodeCallPayloadInvalid},
		{"a call id that is no text", `{"toolId":"t.echo","callId":1}`, CodeCallPayloadInvalid},
		{"an after that is no object, before a missing id", `{"after":1}`, CodeCallPayloadInvalid},
		{"an after that is a list, before an unknown tool", `{"toolId":"t.nope","after":[]}`, CodeCallPayloadInvalid},
		{"a delay that is no number", `{"toolId":"t.echo","after":{"delayMilliseconds":"1"}}`, CodeCallPayloadInvalid},
		{"a delay with a fraction", `{"toolId":"t.echo","after":{"delayMilliseconds":1.5}}`, CodeCallPayloadInvalid},
		{"an include that is no list", `{"toolId":"t.echo","after":{"include":"screenshot"}}`, CodeCallPayloadInvalid},
		{"an include of numbers", `{"toolId":"t.echo","after":{"include":[1]}}`, CodeCallPayloadInvalid},
		{"evidence arguments that are no object", `{"toolId":"t.echo","after":{"visualTreeArguments":1}}`, CodeCallPayloadInvalid},
		{"no tool id", `{}`, CodeCallMissingID},
		{"a null tool id", `{"toolId":null}`, CodeCallMissingID},
		{"a blank tool id", `{"toolId":" "}`, CodeCallMissingID},
		{"an unknown tool, before its arguments", `{"toolId":"t.nope","arguments":1}`, CodeNotFound},
		{"the registry's own form of an id", `{"toolId":"tools.t.echo"}`, CodeNotFound},
		{"a tool above the guard, before its probe and its arguments", `{"toolId":"t.critical","arguments":1}`, CodeExecutionDenied},
		{"a tool that is down, before its arguments", `{"toolId":"t.down","arguments":1}`, CodeUnavailable},
		{"a tool that is down, before its schema", `{"toolId":"t.down","arguments":{"n":"x"}}`, CodeUnavailable},
		{"a tool that is down with a code of its own", `{"toolId":"t.busy"}`, "app_busy"},
		{"a tool whose probe panics", `{"toolId":"t.sick"}`, CodeUnavailable},
		{"arguments that are a list", `{"toolId":"t.echo","arguments":[]}`, CodeArgumentsInvalid},
		{"arguments that are a text", `{"toolId":"t.echo","arguments":"{}"}`, CodeArgumentsInvalid},
		{"arguments with a number that cannot be kept", `{"toolId":"t.echo","arguments":{"n":12345678901234567891}}`, CodeArgumentsInvalid},
		{"arguments that lack a member", `{"toolId":"t.echo"}`, CodeArgumentsSchemaInvalid},
		{"arguments that only the full schema refuses", `{"toolId":"t.strict","arguments":{"n":2}}`, CodeArgumentsSchemaInvalid},
		{"a failure of the tool's own", `{"toolId":"t.own"}`, "no_paper"},
		{"a reject of the tool's own", `{"toolId":"t.reject"}`, "REVISION_CONFLICT"},
		{"a tool that itself calls its input invalid", `{"toolId":"t.invalid"}`, "INVALID_INPUT"},
		{"any other error", `{"toolId":"t.fails"}`, CodeExecutionFailed},
		{"a panic", `{"toolId":"t.panics"}`, CodeExecutionException},
		{"a result that does not fit", `{"toolId":"t.lies"}`, CodeResultSchemaInvalid},
		{"a result that only the full schema refuses", `{"toolId":"t.bounds"}`, CodeResultSchemaInvalid},
		{"a result that is no JSON", `{"toolId":"t.unsendable"}`, CodeResultSchemaInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := answerOf(t, p, TypeCall, TypeError, c.payload)
			assert.Equal(t, string(c.code), text(m, "code"), "%s", m)
			assert.NotEmpty(t, text(m, "message"))
			assert.Contains(t, []string{"true", "false"}, string(m["retryable"]))
			assert.NotContains(t, string(m["message"]), "secret")
		})
	}
}

func TestOfSeveralFaultsTheSameIsAlwaysTold(t *testing.T) {
	p := providerOf(t, jsonEcho())
	for range 50 {
		for payload, want := range map[string]string{
			`{"toolId":1,"callId":1}`: "toolId must be a text",
			`{"toolId":"json.echo","after":{"screenshotArguments":1,"visualTreeArguments":1}}`: "after.visualTreeArguments must be an object",
		} {
			assert.Equal(t, want, text(answerOf(t, p, TypeCall, TypeError, payload), "message"))
		}
	}
}

func TestWithoutExecutionEveryCallIsDenied(t *testing.T) {
	p := NewProvider(registryOf(t, tools.Guard{Discovery: true, MaxPolicy: tools.PolicyCritical}, jsonEcho()), ProviderConfig{})
	assert.Equal(t, string(CodeExecutionDenied), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"json.echo"}`), "code"))
}

func TestWithoutDiscoveryAToolStillRuns(t *testing.T) {
	p := NewProvider(registryOf(t, tools.Guard{Execution: true, MaxPolicy: tools.PolicyRead}, jsonEcho()), ProviderConfig{})
	answerOf(t, p, TypeCall, TypeResult, `{"toolId":"json.echo"}`)
	assert.Equal(t, string(CodeDiscoveryDisabled), text(answerOf(t, p, TypeQuery, TypeError, `{}`), "code"))
}

func TestALoweredProviderHidesAndDenies(t *testing.T) {
	p := providerOf(t, jsonEcho(), tool("tools.t.write", "", "", echoing, tools.Metadata{Policy: tools.PolicyWrite}))
	low := p.Lower(tools.PolicyRead)
	assert.Equal(t, "json.echo", toolsOf(t, answerOf(t, low, TypeQuery, TypeCatalog, `{}`)))
	assert.Equal(t, string(CodeExecutionDenied), text(answerOf(t, low, TypeCall, TypeError, `{"toolId":"t.write"}`), "code"))
	assert.Equal(t, string(CodeExecutionDenied), text(answerOf(t, low.Lower(tools.PolicyCritical), TypeCall, TypeError, `{"toolId":"t.write"}`), "code"))
	assert.Equal(t, string(CodeExecutionDenied), text(answerOf(t, p.Lower("reed"), TypeCall, TypeError, `{"toolId":"json.echo"}`), "code"))
	answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.write"}`)
}

func TestAnErrorCarriesItsDetailsAndWhetherToRetry(t *testing.T) {
	p := zoo(t)
	m := answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.busy"}`)
	assert.JSONEq(t, `{"available":false,"code":"app_busy","reason":"It is busy.","requiredState":"idle","remediation":"Wait.","retryable":true}`, string(m["details"]))
	assert.Equal(t, "true", string(m["retryable"]))
	assert.Equal(t, "It is busy.", text(m, "message"))
	m = answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.own"}`)
	assert.JSONEq(t, `{"tray":2}`, string(m["details"]))
	assert.Equal(t, "true", string(m["retryable"]))
	m = answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.lies"}`)
	assert.JSONEq(t, `{"valid":false,"errors":[{"path":"$.a[0]","code":"type_mismatch","message":"must be of type string"},{"path":"$.b","code":"additional_property_not_allowed","message":"is not known"}]}`, string(m["details"]))
	assert.Equal(t, "code message retryable", keysOf(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.fails"}`)))
}

func TestAnErrorThatAToolGotOverThisProtocolDoesNotTravelOn(t *testing.T) {
	for _, e := range []*Error{
		{Code: CodeNotFound, Message: "secret"},
		{Code: CodeTimeout, Message: "secret"},
		{Code: CodeStreamUnsupported, Message: "secret"},
		{Code: CodeArgumentsSchemaInvalid, Message: "secret", Details: raw(`{"secret":1}`)},
		{Code: CodeExecutionDenied, Message: "secret", remote: true},
	} {
		p := providerOf(t, tool("tools.t.proxy", "", "", failing(fmt.Errorf("proxy: %w", e)), tools.Metadata{}))
		kind, got := p.Handle(t.Context(), TypeCall, raw(`{"toolId":"t.proxy"}`))
		assert.Equal(t, TypeError, kind)
		assert.JSONEq(t, `{"code":"tool_execution_failed","message":"the tool failed","retryable":false}`, string(got), e.Code)
	}
}

func TestAToolThatIsAskedForAFileSaysWhenNobodyCanReceiveIt(t *testing.T) {
	p := providerOf(t, sending("tools.t.file", func(json.RawMessage) File { return File{Reader: strings.NewReader("a"), Size: 1} }))
	assert.Equal(t, string(CodeStreamUnsupported), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.file"}`), "code"))
}

func TestAHandlerThatLeavesItsGoroutineIsAnsweredAsOneThatPanics(t *testing.T) {
	file := &closing{Reader: strings.NewReader("")}
	p := providerOf(t, jsonEcho(), tool("tools.t.leaves", "", "", func(ctx context.Context, _ json.RawMessage) (any, error) {
		_, err := StreamFile(ctx, File{Reader: file})
		assert.NoError(t, err)
		runtime.Goexit()
		return nil, nil
	}, tools.Metadata{Concurrency: 1}))
	client, _, _ := linked(t, p, LinkConfig{}, ClientConfig{})
	for n := range 2 {
		_, err := client.Call(t.Context(), Call{ID: "t.leaves"})
		assertCode(t, CodeExecutionException, err)
		assert.Equal(t, n+1, file.closed)
	}
	got, err := client.Batch(t.Context(), []Call{{ID: "t.leaves"}, {ID: "json.echo"}}, tools.ContinueOnError)
	require.NoError(t, err)
	assertCode(t, CodeExecutionException, got.Items[0].Err)
	assert.NotNil(t, got.Items[1].Result)
}

func TestAToolThatRanWasFound(t *testing.T) {
	ran := 0
	missing := &tools.Failure{Code: string(CodeNotFound), Message: "No such file.", Details: map[string]any{"path": "/a"}}
	p := providerOf(t, tool("tools.t.open", "", "", func(context.Context, json.RawMessage) (any, error) {
		ran++
		return nil, missing
	}, tools.Metadata{}))
	client, _, _ := linked(t, p, LinkConfig{}, ClientConfig{})
	_, err := client.Call(t.Context(), Call{ID: "t.open"})
	assertCode(t, CodeExecutionFailed, err)
	assert.ErrorContains(t, err, "No such file.")
	assert.Equal(t, 1, ran)
	hiding := func(*tools.Registry, tools.CallFunc) tools.CallFunc {
		return func(context.Context, *tools.Invocation) (json.RawMessage, error) { return nil, missing }
	}
	p = around(t, "tools.t.open", hiding, tool("tools.t.open", "", "", echoing, tools.Metadata{}))
	assert.Equal(t, string(CodeNotFound), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.open"}`), "code"), "nothing ran")
}

func nested(depth int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}

func TestAResultThatIsTooDeepToBeSentIsAFailureThatSaysSo(t *testing.T) {
	depth := 0
	p := providerOf(t, uiTools(func(context.Context, json.RawMessage) (any, error) { return nested(depth), nil })...)
	overLink, _, _ := linked(t, p, LinkConfig{}, ClientConfig{})
	_, host := session(t, p, Capability)
	for name, client := range map[string]*Client{"over a link": overLink, "in a session": NewClient(OverSession(host, 0), ClientConfig{})} {
		depth = maxValueDepth
		direct := Call{ID: "ui.get_screenshot"}
		evident := Call{ID: "t.tap", After: &After{Include: []string{"screenshot"}}}
		got, err := client.Batch(t.Context(), []Call{direct, evident}, tools.ContinueOnError)
		require.NoError(t, err, name)
		assert.True(t, got.Success)
		assert.Contains(t, string(got.Items[1].Result.Evidence["screenshot"]), string(nested(depth)))
		depth++
		got, err = client.Batch(t.Context(), []Call{direct, evident}, tools.ContinueOnError)
		require.NoError(t, err, name)
		require.NotNil(t, got.Items[0].Err)
		assertCode(t, CodeResultSchemaInvalid, got.Items[0].Err)
		assert.Contains(t, string(got.Items[1].Result.Evidence["screenshot"]), CodeResultSchemaInvalid)
		_, err = client.Call(t.Context(), direct)
		assertCode(t, CodeResultSchemaInvalid, err)
		assert.ErrorContains(t, err, "the result of ui.get_screenshot: $ cannot be sent: nesting too deep")
	}
}

func TestDetailsThatAreTooDeepAreLeftOut(t *testing.T) {
	for depth, sent := range map[int]bool{maxValueDepth - 1: true, maxValueDepth: false} {
		own := &tools.Failure{Code: "own", Message: "m", Details: map[string]any{"a": nested(depth)}}
		m := answerOf(t, providerOf(t, tool("tools.t.fails", "", "", failing(own), tools.Metadata{})), TypeCall, TypeError, `{"toolId":"t.fails"}`)
		assert.Equal(t, "own", text(m, "code"))
		assert.Equal(t, sent, m["details"] != nil)
	}
}

func TestAResultThatDoesNotFitIsToldAsSuchWhenItIsLateAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := providerOf(t, tool("tools.t.late", "", `{"type":"string"}`, func(context.Context, json.RawMessage) (any, error) {
			<-time.After(time.Second)
			return 1, nil
		}, tools.Metadata{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, got := p.Handle(ctx, TypeCall, raw(`{"toolId":"t.late"}`))
		assert.Contains(t, string(got), CodeResultSchemaInvalid)
	})
}

func TestEveryKindOfMisfitHasItsCodeAndPath(t *testing.T) {
	p := zoo(t)
	for arguments, want := range map[string]string{
		`{"n":null}`:            `$.n null_not_allowed`,
		`{"n":"1"}`:             `$.n type_mismatch`,
		`{"n":1.5}`:             `$.n type_mismatch`,
		`{}`:                    `$.n required_property_missing`,
		`{"n":1,"x":1}`:         `$.x additional_property_not_allowed`,
		`{"n":1,"s":"c"}`:       `$.s enum_value_invalid`,
		`{"n":1,"d":"now"}`:     `$.d format_invalid`,
		`{"n":1,"l":[1,"x"]}`:   `$.l[1] type_mismatch`,
		`{"n":1,"o":1}`:         `$.o type_mismatch`,
		`{"n":1,"l":{"0":"x"}}`: `$.l type_mismatch`,
	} {
		var details struct {
			Valid  bool
			Errors []struct{ Path, Code string }
		}
		m := answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.echo","arguments":`+arguments+`}`)
		require.NoError(t, json.Unmarshal(m["details"], &details))
		require.Len(t, details.Errors, 1, arguments)
		assert.Equal(t, want, details.Errors[0].Path+" "+details.Errors[0].Code, arguments)
		assert.False(t, details.Valid)
	}
	for _, arguments := range []string{`{"n":1.0}`, `{"n":1e2,"o":null}`, `{"n":1,"s":"a","d":"2026-01-02T03:04:05Z","l":[1,2.5]}`} {
		answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.echo","arguments":`+arguments+`}`)
	}
}

func TestACallThatSucceedsAnswersItsResult(t *testing.T) {
	p := zoo(t)
	m := answerOf(t, p, TypeCall, TypeResult, `{"toolId":" T.Echo ","arguments":{"n":1},"callId":"c","unknown":[]}`)
	assert.Equal(t, "result success toolId", keysOf(m))
	assert.Equal(t, "t.echo", text(m, "toolId"))
	assert.Equal(t, "true", string(m["success"]))
	assert.JSONEq(t, `{"n":1}`, string(m["result"]))
	m = answerOf(t, providerOf(t, jsonEcho()), TypeCall, TypeResult, `{"toolId":"json.echo","arguments":null,"after":null}`)
	assert.JSONEq(t, `{}`, string(m["result"]))
}

func TestAToolOfFlattenedStringsGetsTextsAndTheIDsOfTheRequest(t *testing.T) {
	p := providerOf(t, tool("tools.t.flat", `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`, `{"type":"string"}`, echoing, tools.Metadata{FlattenedStrings: true}))
	got := p.HandleMessage(t.Context(), []byte(`{"type":"tool.call","id":"r1","sessionId":"s1","payload":{"toolId":"t.flat","arguments":
		{"a":"x","b":null,"c":1.50,"d":true,"e":{"k" : [1, 2]},"f":[],"__ansight_requestId":"forged"}}}`))
	e, _, _ := parseEnvelope(got)
	m, err := membersOf(e.payload)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":"x","c":"1.50","d":"true","e":"{\"k\":[1,2]}","f":"[]","__ansight_requestId":"r1","__ansight_sessionId":"s1"}`, string(m["result"]))
}

// swapping is a context that runs a function once the called tool was found.
type swapping struct {
	context.Context
	swap func()
}

func (c swapping) Value(key any) any {
	if key == (outboxKey{}) {
		c.swap()
	}
	return c.Context.Value(key)
}

func TestTheToolThatWasFoundIsTheOneThatRuns(t *testing.T) {
	saying := func(who string) spoke.ToolHandler {
		return func(_ context.Context, args json.RawMessage) (any, error) { return who + " " + string(args), nil }
	}
	r := registryOf(t, tools.FullAccess(), tool("tools.t.a", "", "", saying("first"), tools.Metadata{}))
	ctx := swapping{t.Context(), func() {
		require.NoError(t, r.Replace(tool("tools.t.a", "", "", saying("second"), tools.Metadata{FlattenedStrings: true})))
	}}
	kind, got := NewProvider(r, ProviderConfig{}).Handle(ctx, TypeCall, raw(`{"toolId":"t.a","arguments":{"n":5}}`))
	assert.Equal(t, TypeResult, kind)
	assert.JSONEq(t, `{"toolId":"t.a","success":true,"result":"first {\"n\":5}"}`, string(got))
}

func TestAToolCanHaveAnotherIDHere(t *testing.T) {
	r := registryOf(t, tools.FullAccess(), jsonEcho())
	p := NewProvider(r, ProviderConfig{Names: map[string]string{"tools.json.echo": "Écho. The Tool"}})
	assert.Equal(t, "Écho. The Tool", toolsOf(t, answerOf(t, p, TypeQuery, TypeCatalog, `{}`)))
	answerOf(t, p, TypeCall, TypeResult, `{"toolId":"écho. the tool"}`)
	assert.Equal(t, string(CodeNotFound), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"json.echo"}`), "code"))
}

func TestNoTwoToolsHaveOneIDHere(t *testing.T) {
	saying := func(id string) *tools.Tool {
		return tool(id, "", "", func(context.Context, json.RawMessage) (any, error) { return id, nil }, tools.Metadata{})
	}
	for _, c := range []struct {
		name  string
		names map[string]string
		want  map[string]string // who answers to an id
	}{
		{"no names", nil, map[string]string{"a.x": "tools.a.x", "b.x": "tools.b.x", "c.x": "tools.c.x"}},
		{"space around a name", map[string]string{"tools.a.x": " New\t"}, map[string]string{"New": "tools.a.x", "b.x": "tools.b.x", "c.x": "tools.c.x"}},
		{"a blank name", map[string]string{"tools.a.x": " "}, map[string]string{"a.x": "tools.a.x", "b.x": "tools.b.x", "c.x": "tools.c.x"}},
		{"the id of another tool", map[string]string{"tools.a.x": "B.x"}, map[string]string{"B.x": "tools.a.x", "c.x": "tools.c.x"}},
		{"each other's ids", map[string]string{"tools.a.x": "b.x", "tools.b.x": "a.x"}, map[string]string{"a.x": "tools.b.x", "b.x": "tools.a.x", "c.x": "tools.c.x"}},
		{"one name twice", map[string]string{"tools.b.x": "New", "tools.c.x": "new"}, map[string]string{"New": "tools.b.x", "a.x": "tools.a.x", "c.x": "tools.c.x"}},
		{"one name twice and the other's id", map[string]string{"tools.a.x": "n", "tools.b.x": "n", "tools.c.x": "b.x"}, map[string]string{"b.x": "tools.c.x", "n": "tools.a.x"}},
		{"no text in UTF-8", map[string]string{"tools.a.x": "n\xff"}, map[string]string{"n\uFFFD": "tools.a.x", "b.x": "tools.b.x", "c.x": "tools.c.x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewProvider(registryOf(t, tools.FullAccess(), saying("tools.c.x"), saying("tools.b.x"), saying("tools.a.x")), ProviderConfig{Names: c.names})
			listed := answerOf(t, p, TypeQuery, TypeCatalog, `{"detail":"index"}`)
			assert.Equal(t, strings.Join(slices.Sorted(maps.Keys(c.want)), " "), toolsOf(t, listed))
			for _, id := range []string{"a.x", "b.x", "c.x"} {
				if _, ok := c.want[id]; !ok && c.want[strings.ToUpper(id[:1])+id[1:]] == "" {
					assert.Equal(t, string(CodeNotFound), text(answerOf(t, p, TypeCall, TypeError, `{"toolId":"`+id+`"}`), "code"), id)
				}
			}
			for id, who := range c.want {
				m := answerOf(t, p, TypeCall, TypeResult, `{"toolId":" `+strings.ToUpper(id)+` "}`)
				assert.Equal(t, id, text(m, "toolId"))
				assert.Equal(t, `"`+who+`"`, string(m["result"]))
			}
		})
	}
}

// uiTools are what evidence is taken with.
func uiTools(shot spoke.ToolHandler) []*tools.Tool {
	return []*tools.Tool{
		tool("tools.ui.get_visual_tree", "", "", echoing, tools.Metadata{}),
		tool("tools.ui.get_screenshot", "", "", shot, tools.Metadata{}),
		tool("tools.t.tap", "", "", echoing, tools.Metadata{}),
	}
}

func TestEvidenceIsTakenAsAsked(t *testing.T) {
	tree := `{"toolId":"ui.get_visual_tree","success":true,"result":%s}`
	p := providerOf(t, uiTools(failing(errors.New("dark")))...)
	noShot := `{"code":"tool_execution_failed","message":"the tool failed","retryable":false}`
	for _, c := range []struct{ name, toolID, after, want string }{
		{"the tree unless said otherwise", "t.tap", `{}`, `{"visualTree":` + strings.Replace(tree, "%s", "{}", 1) + `}`},
		{"the tree under its other names", "t.tap", `{"include":["tree","visual_tree"]}`, `{"tree":` + strings.Replace(tree, "%s", "{}", 1) + `,"visual_tree":` + strings.Replace(tree, "%s", "{}", 1) + `}`},
		{"with arguments", "t.tap", `{"visualTreeArguments":{"d":1}}`, `{"visualTree":` + strings.Replace(tree, "%s", `{"d":1}`, 1) + `}`},
		{"a failure is recorded", "t.tap", `{"include":["screenshot"]}`, `{"screenshot":` + noShot + `}`},
		{"unknown names are skipped", "t.tap", `{"include":["x","VisualTree"]}`, ``},
		{"nothing", "t.tap", `{"include":[]}`, ``},
		{"the invoked tool is skipped", "UI.get_visual_tree", `{"include":["visualTree","screenshot"]}`, `{"screenshot":` + noShot + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := answerOf(t, p, TypeCall, TypeResult, `{"toolId":"`+c.toolID+`","after":`+c.after+`}`)
			if c.want == "" {
				assert.NotContains(t, m, "evidence")
				return
			}
			assert.JSONEq(t, c.want, string(m["evidence"]))
		})
	}
}

func TestEvidenceIsNotTakenOfACallThatFailed(t *testing.T) {
	p := providerOf(t, append(uiTools(func(context.Context, json.RawMessage) (any, error) {
		t.Error("the screenshot was taken")
		return nil, nil
	}), tool("tools.t.fails", "", "", failing(errors.New("x")), tools.Metadata{}))...)
	m := answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.fails","after":{"include":["screenshot"]}}`)
	assert.NotContains(t, m, "evidence")
}

func TestTheToolsOfEvidenceCanBeOthers(t *testing.T) {
	p := NewProvider(registryOf(t, tools.FullAccess(), jsonEcho(), tool("tools.t.tap", "", "", echoing, tools.Metadata{})),
		ProviderConfig{VisualTreeID: "json.echo", ScreenshotID: "t.nope"})
	m := answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.tap","after":{"include":["visualTree","screenshot"]}}`)
	assert.Contains(t, string(m["evidence"]), `"toolId":"json.echo"`)
	assert.Contains(t, string(m["evidence"]), string(CodeNotFound))
}

func TestTheDelayOfEvidenceIsClampedAndEndsWithTheContext(t *testing.T) {
	for after, want := range map[string]time.Duration{
		`{"delayMilliseconds":-5}`: 0, `{"delayMilliseconds":150}`: 150 * time.Millisecond,
		`{"delayMilliseconds":1e9}`: 2 * time.Second, `{}`: 0, `{"delayMilliseconds":100,"include":[]}`: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := providerOf(t, uiTools(echoing)...)
			started := time.Now()
			answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.tap","after":`+after+`}`)
			assert.Equal(t, want, time.Since(started), after)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := providerOf(t, uiTools(echoing)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		kind, _ := p.Handle(ctx, TypeCall, raw(`{"toolId":"t.tap","after":{"delayMilliseconds":2000}}`))
		assert.Equal(t, TypeResult, kind, "the call has succeeded")
		assert.Equal(t, time.Second, time.Since(started))
	})
}

func TestACallThatDoesNotComeBackIsSeen(t *testing.T) {
	assert.True(t, returns(func() {}))
	assert.False(t, returns(runtime.Goexit))
	assert.False(t, returns(func() { panic("boom") }))
}
