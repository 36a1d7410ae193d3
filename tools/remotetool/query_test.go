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

// shelf has tools that filters can tell apart.
func shelf(t testing.TB) *Provider {
	return providerOf(t,
		tool("tools.b.write-file", "", "", echoing, tools.Metadata{Policy: tools.PolicyWrite, Keywords: []string{"disk"}, Category: "files"}),
		tool("tools.a.read", "", "", echoing, tools.Metadata{Name: "Reader", Category: "files", Prerequisites: []string{"b.write-file"}}),
		tool("tools.c.down", "", "", echoing, tools.Metadata{Probe: func(context.Context) tools.Availability {
			return tools.Availability{Code: "no_disk", Retryable: true}
		}}),
		tool("tools.d.drop", "", "", echoing, tools.Metadata{Policy: tools.PolicyCritical, Name: "Größe"}),
	)
}

func TestFiltersSelectTools(t *testing.T) {
	p := shelf(t)
	for _, c := range []struct{ name, payload, want string }{
		{"none", `{}`, "a.read b.write-file c.down d.drop"},
		{"no payload", ``, "a.read b.write-file c.down d.drop"},
		{"a payload that is no object", `[1]`, "a.read b.write-file c.down d.drop"},
		{"ids are trimmed, exact in case, and blanks dropped", `{"ids":[" a.read ","", "C.down",1,"d.drop"]}`, "a.read d.drop"},
		{"ids that are all blank filter nothing", `{"ids":[" "]}`, "a.read b.write-file c.down d.drop"},
		{"ids that nobody has", `{"ids":["x"]}`, ""},
		{"a policy in any case is equality", `{"policy":"WRITE"}`, "b.write-file"},
		{"an unknown policy is nobody's", `{"policy":"reed"}`, ""},
		{"executable only", `{"executableOnly":true}`, "a.read b.write-file d.drop"},
		{"an executableOnly that is no boolean", `{"executableOnly":"true"}`, "a.read b.write-file c.down d.drop"},
		{"a term in the name, in any case", `{"query":"reader"}`, "a.read"},
		{"a term in the keywords", `{"query":"DISK"}`, "b.write-file"},
		{"a term in the prerequisites and in an id", `{"query":"write file"}`, "a.read b.write-file"},
		{"punctuation separates terms", `{"query":"write-file, disk!"}`, "b.write-file"},
		{"a part of a word", `{"query":"rop"}`, "d.drop"},
		{"letters beyond ASCII", `{"query":"GRÖSSE größe"}`, ""},
		{"lower case beyond ASCII", `{"query":"GRÖße"}`, "d.drop"},
		{"query and feature both", `{"query":"files","feature":"disk"}`, "b.write-file"},
		{"a feature alone", `{"feature":"category tests"}`, ""},
		{"a limit", `{"limit":2}`, "a.read b.write-file"},
		{"a limit below 1 is 1", `{"limit":-3}`, "a.read"},
		{"a limit above 1000 is 1000", `{"limit":1e30}`, "a.read b.write-file c.down d.drop"},
		{"maxResults where there is no limit", `{"limit":null,"maxResults":1}`, "a.read"},
		{"a limit before maxResults", `{"limit":3,"maxResults":1}`, "a.read b.write-file c.down"},
		{"a limit that is no number", `{"limit":"1"}`, "a.read b.write-file c.down d.drop"},
		{"the limit comes last", `{"executableOnly":true,"query":"tests","limit":3}`, "a.read b.write-file d.drop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := answerOf(t, p, TypeQuery, TypeCatalog, c.payload)
			assert.Equal(t, c.want, toolsOf(t, m))
			assert.Equal(t, fmt.Sprint(len(strings.Fields(c.want))), string(m["count"]))
			assert.Equal(t, "4", string(m["totalCount"]))
			assert.JSONEq(t, `{"c":1,"d":1,"files":2}`, string(m["categories"]))
		})
	}
}

func TestADetailHasItsKeys(t *testing.T) {
	p := shelf(t)
	const full = "availabilityRevision categories count evaluatedAtUtc revision schema tools totalCount"
	for payload, want := range map[string][2]string{
		`{"detail":" INDEX "}`:     {"availabilityRevision categories count detail evaluatedAtUtc revision schema tools totalCount", "category definitionRevision description executable id name policy runtime"},
		`{"detail":"definitions"}`: {"count detail revision schema tools", "argumentsSchema category definitionRevision description id name policy resultSchema"},
		`{"detail":"full"}`:        {full, "argumentsSchema category definitionRevision description executable id name policy resultSchema runtime"},
		`{}`:                       {full, "argumentsSchema category definitionRevision description executable id name policy resultSchema runtime"},
		`{"detail":"other"}`:       {full, "argumentsSchema category definitionRevision description executable id name policy resultSchema runtime"},
		`{"detail":1}`:             {full, "argumentsSchema category definitionRevision description executable id name policy resultSchema runtime"},
	} {
		m := answerOf(t, p, TypeQuery, TypeCatalog, payload)
		assert.Equal(t, want[0], keysOf(m), payload)
		var list []members
		require.NoError(t, json.Unmarshal(m["tools"], &list))
		assert.Equal(t, want[1], keysOf(list[2]), payload)
		if list[2]["runtime"] != nil {
			assert.JSONEq(t, `{"available":false,"code":"no_disk","retryable":true}`, string(list[2]["runtime"]))
			assert.Equal(t, "false", string(list[2]["executable"]))
		}
		assert.NotContains(t, list[0], "runtime")
		assert.NotContains(t, list[0], "executable")
		assert.Equal(t, Schema, text(m, "schema"))
	}
}

func TestAConditionalQueryIsAnsweredWithWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := shelf(t)
		now := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
		r, a := text(now, "revision"), text(now, "availabilityRevision")
		const unchanged, availability = "revision schema unchanged", "availabilityRevision changes evaluatedAtUtc revision schema unchanged"
		for _, c := range []struct{ name, payload, keys string }{
			{"both equal", `{"ifRevision":"` + r + `","ifAvailabilityRevision":"` + a + `"}`, unchanged},
			{"only the revision supplied", `{"ifRevision":" ` + r + ` "}`, unchanged},
			{"another availability", `{"ifRevision":"` + r + `","ifAvailabilityRevision":"x"}`, availability},
			{"filters do not matter to either", `{"ifRevision":"` + r + `","ifAvailabilityRevision":"x","ids":["none"],"detail":"index"}`, availability},
			{"nor to unchanged", `{"ifRevision":"` + r + `","ids":["none"]}`, unchanged},
			{"another revision", `{"ifRevision":"x","ifAvailabilityRevision":"` + a + `"}`, "availabilityRevision categories count evaluatedAtUtc revision schema tools totalCount"},
			{"only the availability supplied", `{"ifAvailabilityRevision":"` + a + `"}`, "availabilityRevision categories count evaluatedAtUtc revision schema tools totalCount"},
			{"definitions ignore both", `{"detail":"definitions","ifRevision":"` + r + `","ifAvailabilityRevision":"` + a + `"}`, "count detail revision schema tools"},
		} {
			m := answerOf(t, p, TypeQuery, TypeCatalog, c.payload)
			assert.Equal(t, c.keys, keysOf(m), c.name)
			assert.Equal(t, r, text(m, "revision"))
			if c.keys == availability {
				assert.JSONEq(t, `{"c.down":{"available":false,"code":"no_disk","retryable":true}}`, string(m["changes"]))
				assert.Equal(t, "2000-01-01T00:00:00.000Z", text(m, "evaluatedAtUtc"))
			}
		}
	})
}

func TestACeilingIsAskedOncePerQueryAndMayAskInTurn(t *testing.T) {
	asked := 0
	var p *Provider
	inner := make(chan string, 1)
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Ceiling: func(ctx context.Context) tools.Policy {
		switch asked++; asked {
		case 1: // the answer to the outer query
			_, got := p.Handle(ctx, TypeQuery, raw(`{"detail":"index"}`))
			inner <- string(got)
			return tools.PolicyRead
		case 2:
			return tools.PolicyCritical
		}
		return tools.PolicyRead
	}})
	require.NoError(t, r.Register(tool("tools.t.secret", "", "", echoing, tools.Metadata{Policy: tools.PolicyCritical})))
	p = NewProvider(r, ProviderConfig{})
	for n := range 3 {
		assert.Empty(t, toolsOf(t, answerOf(t, p, TypeQuery, TypeCatalog, `{}`)))
		assert.Equal(t, n+2, asked)
	}
	assert.Contains(t, <-inner, "t.secret")
}

func TestEveryQueryAsksEveryProbeOfAVisibleTool(t *testing.T) {
	asked := 0
	probe := func(context.Context) tools.Availability { asked++; return tools.Available() }
	r := registryOf(t, tools.ReadOnly(), tool("tools.t.a", "", "", echoing, tools.Metadata{Probe: probe}),
		tool("tools.t.hidden", "", "", echoing, tools.Metadata{Probe: probe, Policy: tools.PolicyWrite}))
	p := NewProvider(r, ProviderConfig{})
	answerOf(t, p, TypeQuery, TypeCatalog, `{"limit":1,"ids":["x"]}`)
	assert.Equal(t, 1, asked)
	answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	answerOf(t, p, TypeCall, TypeResult, `{"toolId":"t.a"}`)
	assert.Equal(t, 3, asked)
}

func TestAProbeThatPanicsDoesNotKeepTheOthersFromBeingAsked(t *testing.T) {
	probing := func(id string, probe tools.Probe) *tools.Tool {
		return tool(id, "", "", echoing, tools.Metadata{Probe: probe})
	}
	sick := func(context.Context) tools.Availability { panic("x") }
	p := providerOf(t, probing("tools.t.a", trivialProbe), probing("tools.t.b", sick), probing("tools.t.c", trivialProbe),
		probing("tools.t.d", func(context.Context) tools.Availability { return tools.Unavailable("d", "") }), probing("tools.t.e", sick))
	m := answerOf(t, p, TypeQuery, TypeCatalog, `{"executableOnly":true}`)
	assert.Equal(t, "t.a t.c", toolsOf(t, m))
}

func TestAToolsTimeoutEndsItsProbeInAListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := func(ctx context.Context) tools.Availability {
			<-ctx.Done()
			return tools.Unavailable("slow", "")
		}
		p := providerOf(t, tool("tools.t.a", "", "", echoing, tools.Metadata{Timeout: time.Second, Probe: waiting}),
			tool("tools.t.b", "", "", echoing, tools.Metadata{Timeout: time.Minute, Probe: waiting}))
		started := time.Now()
		m := answerOf(t, p, TypeQuery, TypeCatalog, `{"executableOnly":true}`)
		assert.Empty(t, toolsOf(t, m))
		assert.Equal(t, time.Minute+time.Second, time.Since(started))
	})
}

func TestAProbeThatPanicsMakesItsToolUnavailable(t *testing.T) {
	p := providerOf(t, tool("tools.t.a", "", "", echoing, tools.Metadata{Probe: func(context.Context) tools.Availability { panic("x") }}))
	m := answerOf(t, p, TypeQuery, TypeCatalog, `{"detail":"index"}`)
	assert.Contains(t, string(m["tools"]), `"available":false`)
}

func TestAnAnswerListsAtMost1000Tools(t *testing.T) {
	p := providerOf(t, manyTools(1200, nil)...)
	m := answerOf(t, p, TypeQuery, TypeCatalog, `{"detail":"index"}`)
	assert.Equal(t, "1000", string(m["count"]))
	assert.Equal(t, "1200", string(m["totalCount"]))
}

// manyTools returns tools with plain schemas.
func manyTools(n int, probe tools.Probe) []*tools.Tool {
	list := make([]*tools.Tool, n)
	one := tool("tools.many.t", `{"type":"object","properties":{"a":{"type":"string"}}}`, "", echoing, tools.Metadata{})
	for i := range list {
		d := one.Descriptor()
		d.CapabilityID = fmt.Sprintf("tools.many.t%06d", i)
		d.Op = d.CapabilityID
		list[i] = tools.Raw(d, echoing).With(tools.Metadata{Policy: tools.PolicyRead, Probe: probe})
	}
	return list
}

func TestASchemaIsExpressedInTheSubset(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                `{}`,
		`{"type":"object"}`: `{"type":"object","additionalProperties":true}`,
		`{"type":"object","additionalProperties":false}`:                              `{"type":"object"}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                  `{"type":"object","additionalProperties":true}`,
		`{"type":"object","additionalProperties":false,"patternProperties":{"x":{}}}`: `{"type":"object","additionalProperties":true}`,
		`{"type":["null","string"],"format":"uuid","minLength":3}`:                    `{"type":["string","null"],"format":"uuid"}`,
		`{"type":["string","integer"]}`:                                               `{}`,
		`{"$ref":"#/definitions/x","type":"string","definitions":{"x":{}}}`:           `{}`,
		`{"type":"string","enum":["b","a"],"description":"d"}`:                        `{"type":"string","description":"d","enum":["b","a"]}`,
		`{"enum":["a",null]}`: `{"enum":["a"]}`,
		`{"enum":["a",1]}`:    `{}`,
		`{"const":"a"}`:       `{"enum":["a"]}`,
		`{"type":"array","items":{"type":"object","properties":{"z":{},"a":{"type":"null"}},"required":["z","a"],"additionalProperties":false}}`: `{"type":"array","items":{"type":"object","properties":{"a":{"type":"null"},"z":{}},"required":["z","a"]}}`,
		`{"type":"array","items":[{}]}`: `{"type":"array"}`,
		`true`:                          `{}`,
	} {
		assert.Equal(t, want, string(schemaOf(json.RawMessage(in)).append(nil)), in)
	}
	assert.Equal(t, `{"type":"object","additionalProperties":true}`, string(argumentsOf(nil).append(nil)))
	assert.Equal(t, `{"type":"object","additionalProperties":true,"properties":{"a":{}},"required":["a"]}`,
		string(argumentsOf(raw(`{"properties":{"a":{}},"required":["a"]}`)).append(nil)))
}
