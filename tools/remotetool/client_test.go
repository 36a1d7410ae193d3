package remotetool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/tools"
)

// taped is a carrier that keeps the requests and answers each with what the test says.
type taped struct {
	Carrier
	requests []string
	answers  func(kind, payload string) (string, string)
}

func (c *taped) request(ctx context.Context, kind string, payload json.RawMessage, seen func(answer)) (answer, error) {
	c.requests = append(c.requests, kind+" "+string(payload))
	gotKind, got := c.answers(kind, string(payload))
	a := answer{gotKind, json.RawMessage(got)}
	if seen != nil {
		seen(a)
	}
	return a, nil
}

// take returns the requests since it was last asked.
func (c *taped) take() []string {
	list := c.requests
	c.requests = nil
	return list
}

// overProvider tapes a client of a provider.
func overProvider(t testing.TB, p *Provider, cfg ClientConfig) (*Client, *taped) {
	tape := &taped{answers: func(kind, payload string) (string, string) {
		k, got := p.Handle(t.Context(), kind, json.RawMessage(payload))
		return k, string(got)
	}}
	return NewClient(tape, cfg), tape
}

func answering(kind, payload string) *taped {
	return &taped{answers: func(string, string) (string, string) { return kind, payload }}
}

func idsOf(list []Tool) string {
	ids := []string{}
	for _, tool := range list {
		ids = append(ids, tool.ID)
	}
	return strings.Join(ids, " ")
}

func TestTheCatalogIsAskedForOnceAndThenForWhatChanged(t *testing.T) {
	state := tools.Available()
	r := registryOf(t, tools.FullAccess(), jsonEcho(), tool("tools.t.a", "", "", echoing, tools.Metadata{Probe: func(context.Context) tools.Availability { return state }}))
	client, tape := overProvider(t, NewProvider(r, ProviderConfig{}), ClientConfig{})
	list, err := client.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "json.echo t.a", idsOf(list))
	assert.True(t, list[1].Executable)
	assert.Equal(t, []string{`tool.query {"detail":"index"}`}, tape.take())
	first := client.known()

	state = tools.Unavailable("down", "It is down.")
	list, err = client.Tools(t.Context())
	require.NoError(t, err)
	assert.False(t, list[1].Executable)
	assert.Equal(t, state, list[1].Runtime)
	assert.Equal(t, []string{fmt.Sprintf(`tool.query {"detail":"index","ifRevision":%q,"ifAvailabilityRevision":%q}`, first.revision, first.availability)}, tape.take())
	second := client.known()
	assert.Equal(t, first.revision, second.revision)
	assert.NotEqual(t, first.availability, second.availability)

	list, err = client.Tools(t.Context())
	require.NoError(t, err)
	assert.False(t, list[1].Executable, "unchanged keeps the states")

	state = tools.Available()
	list, err = client.Tools(t.Context())
	require.NoError(t, err)
	assert.True(t, list[1].Executable, "a snapshot replaces all states before")

	require.True(t, r.Remove("tools.t.a"))
	list, err = client.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "json.echo", idsOf(list))
}

func TestTheWaitForAnotherRefreshEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, _ := script(t, LinkConfig{}, ClientConfig{})
		go func() { _, _ = client.Tools(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		_, err := client.Tools(ctx)
		assertCode(t, CodeTimeout, err)
		assert.Equal(t, time.Second, time.Since(started))
	})
}

func TestDefinitionsAreFetchedByIDAndKeptByRevision(t *testing.T) {
	r := registryOf(t, tools.FullAccess(), jsonEcho(), tool("tools.t.a", "", "", echoing, tools.Metadata{}))
	client, tape := overProvider(t, NewProvider(r, ProviderConfig{}), ClientConfig{})
	list, err := client.Definitions(t.Context(), "t.a", "JSON.echo", "nope", "t.a")
	require.NoError(t, err)
	assert.Equal(t, "t.a json.echo t.a", idsOf(list))
	assert.JSONEq(t, `{"type":"object","additionalProperties":true}`, string(list[1].ArgumentsSchema))
	asked := tape.take()
	require.Len(t, asked, 2)
	assert.Equal(t, `tool.query {"detail":"definitions","ids":["t.a","json.echo"]}`, asked[1])
	_, err = client.Definitions(t.Context(), "t.a", "json.echo")
	require.NoError(t, err)
	assert.Len(t, tape.take(), 1, "only the catalog is asked for")
	before := client.known().revision

	require.NoError(t, r.Replace(tool("tools.t.a", "", "", echoing, tools.Metadata{Name: "New"})))
	list, err = client.Definitions(t.Context(), "t.a", "json.echo")
	require.NoError(t, err)
	assert.Equal(t, "New", list[0].Name)
	assert.Equal(t, `tool.query {"detail":"definitions","ids":["t.a"]}`, tape.take()[1])
	assert.NotEqual(t, before, client.known().revision)
	assert.Len(t, client.cache.definitions, 2, "the old definition is forgotten")
}

func TestAQueryOfTheCallersOwnDoesNotMoveTheCache(t *testing.T) {
	client, _ := overProvider(t, shelf(t), ClientConfig{})
	got, err := client.Query(t.Context(), Query{Detail: DetailFull, IDs: []string{"a.read"}, Text: "reader", Feature: "files", Policy: tools.PolicyRead, ExecutableOnly: true, Limit: 5})
	require.NoError(t, err)
	assert.Equal(t, "a.read", idsOf(got.Tools))
	assert.Equal(t, 4, got.TotalCount)
	assert.Equal(t, map[string]int{"c": 1, "d": 1, "files": 2}, got.Categories)
	assert.Empty(t, client.known().revision)
	again, err := client.Query(t.Context(), Query{IfRevision: got.Revision, IfAvailabilityRevision: got.AvailabilityRevision})
	require.NoError(t, err)
	assert.True(t, again.Unchanged)
	again, err = client.Query(t.Context(), Query{IfRevision: got.Revision, IfAvailabilityRevision: "x"})
	require.NoError(t, err)
	assert.Equal(t, map[string]tools.Availability{"c.down": {Code: "no_disk", Retryable: true}}, again.Changes)
}

func TestTheClientsCeilingHidesAndRefuses(t *testing.T) {
	state := tools.Available()
	p := providerOf(t, append(uiTools(echoing),
		tool("tools.t.write", "", "", echoing, tools.Metadata{Policy: tools.PolicyWrite}),
		tool("tools.t.a", "", "", echoing, tools.Metadata{Probe: func(context.Context) tools.Availability { return state }}))...)
	client, tape := overProvider(t, p, ClientConfig{MaxPolicy: tools.PolicyRead, VisualTreeID: "t.write"})
	_, err := client.Call(t.Context(), Call{ID: "T.write"})
	assertCode(t, CodeExecutionDenied, err)
	_, err = client.Batch(t.Context(), []Call{{ID: "t.a"}, {ID: "t.write"}}, tools.ContinueOnError)
	assertCode(t, CodeExecutionDenied, err)
	_, err = client.Call(t.Context(), Call{ID: "t.a", After: &After{}})
	assertCode(t, CodeExecutionDenied, err)
	_, err = client.Call(t.Context(), Call{ID: "nope"})
	assertCode(t, CodeNotFound, err)
	for _, asked := range tape.take() {
		assert.True(t, strings.HasPrefix(asked, TypeQuery), "nothing was called: %s", asked)
	}
	_, err = client.Call(t.Context(), Call{ID: "t.a", After: &After{Include: []string{"screenshot"}}})
	require.NoError(t, err)
	state = tools.Unavailable("x", "")
	list, err := client.Tools(t.Context())
	require.NoError(t, err)
	assert.NotContains(t, idsOf(list), "t.write", "a snapshot of states does not lift the ceiling")
	definitions, err := client.Definitions(t.Context(), "t.write", "t.a")
	require.NoError(t, err)
	assert.Equal(t, "t.a", idsOf(definitions))
	got, err := client.Query(t.Context(), Query{})
	require.NoError(t, err)
	assert.NotContains(t, idsOf(got.Tools), "t.write")

	client, _ = overProvider(t, p, ClientConfig{MaxPolicy: "reed"})
	list, err = client.Tools(t.Context())
	require.NoError(t, err)
	assert.Empty(t, list)
	_, err = client.Call(t.Context(), Call{ID: "t.a"})
	assertCode(t, CodeExecutionDenied, err)
}

func TestTheCeilingHoldsBeyondWhatThePeerLists(t *testing.T) {
	var ran []string
	recording := func(id string, policy tools.Policy) *tools.Tool {
		return tool(id, "", "", func(context.Context, json.RawMessage) (any, error) {
			ran = append(ran, id)
			return 1, nil
		}, tools.Metadata{Policy: policy})
	}
	list := append(manyTools(maxListed, nil),
		recording("tools.ui.get_visual_tree", tools.PolicyCritical), recording("tools.z.read", tools.PolicyRead), recording("tools.z.write", tools.PolicyWrite))
	p := NewProvider(registryOf(t, tools.FullAccess(), list...), ProviderConfig{Names: map[string]string{"tools.z.read": "Z.Read", "tools.z.write": "Z.Write"}})
	client, _ := overProvider(t, p, ClientConfig{MaxPolicy: tools.PolicyRead})
	for _, c := range []struct {
		call Call
		want Code
	}{
		{Call{ID: "many.t000001", After: &After{}}, CodeExecutionDenied},
		{Call{ID: "many.t000001", After: &After{Include: []string{"screenshot"}}}, ""},
		{Call{ID: "Z.Read"}, ""},
		{Call{ID: "z.read"}, ""},
		{Call{ID: "z.write"}, CodeExecutionDenied},
		{Call{ID: "z.nope"}, CodeNotFound},
		{Call{ID: "many"}, CodeExecutionDenied}, // as many tools have that word as are listed
	} {
		_, err := client.Call(t.Context(), c.call)
		assert.Equal(t, c.want, CodeOf(err), "%+v: %v", c.call, err)
	}
	assert.Equal(t, []string{"tools.z.read", "tools.z.read"}, ran)

	client, tape := overProvider(t, shelf(t), ClientConfig{MaxPolicy: tools.PolicyRead})
	_, err := client.Call(t.Context(), Call{ID: "nope"})
	assertCode(t, CodeNotFound, err)
	assert.Len(t, tape.take(), 1, "a peer that lists everything is not asked again")
}

const catalogHead = `"schema":"ansight.tool-catalog.v3","revision":"r"`

func TestAnUnknownPolicyIsNeverReadAsRead(t *testing.T) {
	tape := answering(TypeCatalog, `{`+catalogHead+`,"tools":[{"id":"a","policy":"reed"},{"id":"b"},{"id":"c","policy":"Read"}],"count":3}`)
	list, err := NewClient(tape, ClientConfig{}).Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "c", idsOf(list))
}

func TestExecutableFalseIsHonouredWhereverItStands(t *testing.T) {
	answers := []string{
		`{` + catalogHead + `,"availabilityRevision":"1","tools":[{"id":"a","policy":"read","executable":false},{"id":"b","policy":"read"}]}`,
		`{` + catalogHead + `,"unchanged":true,"availabilityRevision":"2","changes":{"b":{"available":true,"executable":false}}}`,
	}
	tape := &taped{answers: func(string, string) (string, string) {
		next := answers[0]
		answers = answers[1:]
		return TypeCatalog, next
	}}
	client := NewClient(tape, ClientConfig{})
	for _, want := range [][]bool{{false, true}, {true, false}} {
		list, err := client.Tools(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, []bool{list[0].Executable, list[1].Executable})
	}
}

func TestAToolThatIsNotFoundRefreshesOnceAndIsNotCalledAgain(t *testing.T) {
	for _, catalog := range []string{`{` + catalogHead + `,"tools":[]}`, `{` + catalogHead + `,"tools":[{"id":"a","policy":"read"}]}`} {
		tape := &taped{answers: func(kind, _ string) (string, string) {
			if kind == TypeQuery {
				return TypeCatalog, catalog
			}
			return TypeError, `{"code":"tool_not_found","message":"m"}`
		}}
		client := NewClient(tape, ClientConfig{})
		_, err := client.Call(t.Context(), Call{ID: "a"})
		assertCode(t, CodeNotFound, err)
		var kinds []string
		for _, request := range tape.requests {
			kinds = append(kinds, strings.Fields(request)[0])
		}
		assert.Equal(t, []string{TypeCall, TypeQuery}, kinds)
		assert.Equal(t, "r", client.known().revision)
	}
}

func TestAToolThatItselfDoesNotFindOneIsNotCalledAgain(t *testing.T) {
	ran := 0
	r := registryOf(t, tools.FullAccess(), jsonEcho())
	client, _ := overProvider(t, NewProvider(r, ProviderConfig{}), ClientConfig{})
	_, err := client.Tools(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Register(tool("tools.t.find", "", "", func(context.Context, json.RawMessage) (any, error) {
		ran++
		return nil, &tools.Failure{Code: string(CodeNotFound), Message: "no such tool in the box"}
	}, tools.Metadata{Policy: tools.PolicyWrite})))
	for want := range 2 {
		_, err = client.Call(t.Context(), Call{ID: "t.find"})
		assert.Error(t, err)
		assert.Equal(t, want+1, ran)
	}
}

func TestWhatMayHaveRunIsNotCalledAgain(t *testing.T) {
	for _, code := range []Code{CodeResultSchemaInvalid, CodeExecutionException, CodeExecutionFailed, CodeUnavailable, "own"} {
		tape := answering(TypeError, `{"code":"`+string(code)+`","message":"m","retryable":true}`)
		_, err := NewClient(tape, ClientConfig{}).Call(t.Context(), Call{ID: "a"})
		assertCode(t, code, err)
		assert.Len(t, tape.requests, 1)
	}
}

func TestAHostileCatalogIsRefused(t *testing.T) {
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `,{"id":"t%d","policy":"read"}`, i)
	}
	for name, payload := range map[string]string{
		"another schema":           `{"schema":"x","revision":"r","tools":[]}`,
		"no revision":              `{"schema":"ansight.tool-catalog.v3","tools":[]}`,
		"no tools":                 `{` + catalogHead + `}`,
		"tools that are null":      `{` + catalogHead + `,"tools":null}`,
		"a wrong count":            `{` + catalogHead + `,"tools":[],"count":1}`,
		"a tool that is no object": `{` + catalogHead + `,"tools":[1]}`,
		"a tool without an id":     `{` + catalogHead + `,"tools":[{"id":" "}]}`,
		"an id twice":              `{` + catalogHead + `,"tools":[{"id":"a"},{"id":"A"}]}`,
		"100,000 tools":            `{` + catalogHead + `,"tools":[` + many.String()[1:] + `]}`,
		"unchanged since nothing":  `{` + catalogHead + `,"unchanged":true}`,
	} {
		_, err := NewClient(answering(TypeCatalog, payload), ClientConfig{}).Tools(t.Context())
		assert.Equal(t, CodeProtocol, CodeOf(err), name)
	}
	client := NewClient(answering(TypeCatalog, `{`+catalogHead+`,"tools":[`+many.String()[1:]+`]}`), ClientConfig{MaxTools: 100_000})
	list, err := client.Tools(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 100_000)
}

func TestDefinitionsThatNobodyAskedForAreNotKept(t *testing.T) {
	tape := &taped{answers: func(_, payload string) (string, string) {
		if strings.Contains(payload, "index") {
			return TypeCatalog, `{` + catalogHead + `,"tools":[{"id":"a","policy":"read","definitionRevision":"1"}]}`
		}
		return TypeCatalog, `{` + catalogHead + `,"tools":[{"id":"a","policy":"read","definitionRevision":"1"},{"id":"b","policy":"read","definitionRevision":"2"}]}`
	}}
	client := NewClient(tape, ClientConfig{})
	list, err := client.Definitions(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, "a", idsOf(list))
	assert.Len(t, client.cache.definitions, 1)
}

func TestABatchIsReadAndItsCountsAreHeldToEachOther(t *testing.T) {
	client, _ := overProvider(t, providerOf(t, jsonEcho()), ClientConfig{})
	got, err := client.Batch(t.Context(), []Call{{ID: "json.echo", CallID: "x", Arguments: raw(` {"a":1} `)}, {ID: "nope"}}, tools.ContinueOnError)
	require.NoError(t, err)
	assert.Equal(t, BatchItem{Index: 0, CallID: "x", Result: &Result{ToolID: "json.echo", Result: raw(`{"a":1}`)}}, got.Items[0])
	assert.Equal(t, CodeNotFound, got.Items[1].Err.Code)
	assert.Equal(t, []any{false, 2, 2, false}, []any{got.Success, got.Completed, got.Requested, got.StoppedEarly})
	const ok = `{"index":0,"success":true,"toolId":"a","result":1}`
	for name, payload := range map[string]string{
		"no results":                 `{"success":true,"completed":1,"requested":2,"stoppedEarly":true}`,
		"more results than calls":    `{"success":true,"completed":3,"requested":2,"stoppedEarly":false,"results":[` + ok + `,` + ok + `,` + ok + `]}`,
		"another request":            `{"success":true,"completed":1,"requested":3,"stoppedEarly":true,"results":[` + ok + `]}`,
		"more made than results":     `{"success":true,"completed":2,"requested":2,"stoppedEarly":true,"results":[` + ok + `]}`,
		"not stopped, though it was": `{"success":true,"completed":1,"requested":2,"stoppedEarly":false,"results":[` + ok + `]}`,
		"a result twice":             `{"success":true,"completed":2,"requested":2,"stoppedEarly":false,"results":[` + ok + `,` + ok + `]}`,
		"a result that is none":      `{"success":true,"completed":1,"requested":2,"stoppedEarly":true,"results":[1]}`,
		"a success with a failure":   `{"success":true,"completed":1,"requested":2,"stoppedEarly":true,"results":[{"index":0,"success":false,"error":{"code":"c"}}]}`,
	} {
		_, err := NewClient(answering(TypeBatchResult, payload), ClientConfig{}).Batch(t.Context(), make([]Call, 2), tools.ContinueOnError)
		assert.Equal(t, CodeProtocol, CodeOf(err), name)
	}
	for _, n := range []int{0, 33} {
		_, err := client.Batch(t.Context(), make([]Call, n), tools.ContinueOnError)
		assertCode(t, CodeBatchSizeInvalid, err)
	}
}

func TestABatchSaysWhetherItGoesOnAfterAFailure(t *testing.T) {
	client, _ := overProvider(t, providerOf(t, jsonEcho()), ClientConfig{})
	for mode, want := range map[tools.BatchMode]int{tools.StopOnError: 1, tools.ContinueOnError: 2, tools.BatchMode(9): 1} {
		got, err := client.Batch(t.Context(), []Call{{ID: "nope"}, {ID: "json.echo"}}, mode)
		require.NoError(t, err)
		assert.Len(t, got.Items, want)
	}
}

func TestArgumentsThatCannotTravelAreNotSent(t *testing.T) {
	tape := answering(TypeResult, `{}`)
	client := NewClient(tape, ClientConfig{})
	for _, arguments := range []any{1, []int{}, make(chan int), raw(`{`), raw(`[]`)} {
		_, err := client.Call(t.Context(), Call{ID: "a", Arguments: arguments})
		assertCode(t, CodeArgumentsInvalid, err)
		_, err = client.Call(t.Context(), Call{ID: "a", After: &After{ScreenshotArguments: arguments}})
		assertCode(t, CodeArgumentsInvalid, err)
	}
	assert.Empty(t, tape.requests)
	_, err := client.Call(t.Context(), Call{ID: "a", Arguments: raw("null"), After: &After{Delay: 9e12, Include: []string{"screenshot"}, VisualTreeArguments: struct{}{}}})
	require.NoError(t, err)
	assert.Equal(t, []string{`tool.call {"toolId":"a","after":{"delayMilliseconds":2000,"include":["screenshot"],"visualTreeArguments":{}}}`}, tape.requests)
}

func TestEvidenceAndMessageAreRead(t *testing.T) {
	got, err := NewClient(answering(TypeResult, `{"toolId":"a","success":true,"message":"m","evidence":{"tree":{"x":1}}}`), ClientConfig{}).Call(t.Context(), Call{ID: "a"})
	require.NoError(t, err)
	assert.Equal(t, &Result{ToolID: "a", Message: "m", Result: raw("null"), Evidence: map[string]json.RawMessage{"tree": raw(`{"x":1}`)}}, got)
	_, err = NewClient(answering(TypeResult, `{"toolId":"a","success":false,"error":{"code":"c"}}`), ClientConfig{}).Call(t.Context(), Call{ID: "a"})
	assertCode(t, "c", err)
}
