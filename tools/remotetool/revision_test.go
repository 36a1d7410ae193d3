package remotetool

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

const (
	emptyRevision     = "sha256:b0ee0903efb7b6272f72aea9e5a3be3b8ccd0ae93eab21da730d890a75e77ac2"
	emptyAvailability = "sha256:fe2f3b4ef49492d81cb350fb689bf9f9dff6cfd1817d72d6ff9fe3350e3d5e6a"
	echoDefinition    = "sha256:dccce4c04fba66df28155e24180511c73b11806d1514251bdc872c38cde7a67b"
	echoRevision      = "sha256:c1c3bc8ca0b0e9df2226e2d2763bc7eb1f67fdd33cac513f81264671f20904e6"
	echoAvailability  = "sha256:9a866f3184567fffda2fe67b282aff918c647b0d7b3276c191e267f90f6a0339"
)

// jsonEcho is the tool of the spec's vector.
func jsonEcho() *tools.Tool {
	d := spoke.ToolDescriptor{
		CapabilityID: "tools.json.echo", Description: "Test JSON tool.",
		Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`),
	}
	return tools.Raw(d, echoing).With(tools.Metadata{Policy: tools.PolicyRead, Category: "test", Keywords: []string{"test"}})
}

func TestTheRevisionOfNoToolsIsThatOfTheVector(t *testing.T) {
	p := NewProvider(registryOf(t, tools.ReadOnly()), ProviderConfig{})
	m := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	assert.Equal(t, emptyRevision, text(m, "revision"))
	assert.Equal(t, emptyAvailability, text(m, "availabilityRevision"))
}

func TestTheRevisionsOfOneToolAreThoseOfTheVector(t *testing.T) {
	p := NewProvider(registryOf(t, tools.ReadOnly(), jsonEcho()), ProviderConfig{})
	m := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	assert.Equal(t, echoRevision, text(m, "revision"))
	assert.Equal(t, echoAvailability, text(m, "availabilityRevision"))
	assert.JSONEq(t, fmt.Sprintf(`[{"id":"json.echo","name":"json.echo","description":"Test JSON tool.","category":"test",
		"policy":"read","keywords":"test","argumentsSchema":{"type":"object","additionalProperties":true},
		"resultSchema":{"type":"object","additionalProperties":true},"definitionRevision":%q}]`, echoDefinition), string(m["tools"]))
}

func TestEveryGuardHasARevisionOfItsOwn(t *testing.T) {
	seen := map[string]tools.Guard{}
	for _, discovery := range []bool{true, false} {
		for _, execution := range []bool{true, false} {
			for _, policy := range []tools.Policy{tools.PolicyRead, tools.PolicyWrite, tools.PolicyCritical} {
				g := tools.Guard{Discovery: discovery, Execution: execution, MaxPolicy: policy}
				known, _ := newCatalogs(nil).of(t.Context(), registryOf(t, g))
				assert.NotContains(t, seen, known.revision)
				seen[known.revision] = g
			}
		}
	}
	assert.Equal(t, tools.ReadOnly(), seen[emptyRevision])
}

func TestRevisionsAreTheSameInEveryRunWhateverTheOrderOfRegistration(t *testing.T) {
	unusual := func(n string) *tools.Tool {
		return tool("tools.ns."+n, `{"type":"object","properties":{"b":{"type":"string","enum":["é","<&>"]},"a":{"type":["integer","null"],"description":"\u0000\u007f"}},"required":["b","a"],"additionalProperties":false}`, "", echoing,
			tools.Metadata{Name: "Näme 😀 \"'`+\\/" + n, Keywords: []string{"ключ", "鍵"}, Prerequisites: []string{"b", " a ", "b"}})
	}
	revision := func(list ...*tools.Tool) string {
		m := answerOf(t, providerOf(t, list...), TypeQuery, TypeCatalog, `{}`)
		return text(m, "revision") + text(m, "availabilityRevision")
	}
	first := revision(unusual("a"), unusual("b-1"), unusual("0"))
	for range 5 {
		assert.Equal(t, first, revision(unusual("0"), unusual("b-1"), unusual("a")))
	}
}

func TestADefinitionIsHashedOverTheseBytes(t *testing.T) {
	p := providerOf(t, tool("tools.ns.t", `{"type":"object","properties":{"b":{"type":"string","enum":["é"],"description":"d"},"a":{"type":["integer","null"]}},"required":["b"],"additionalProperties":false}`,
		`{"type":"array","items":{"type":"string","format":"uuid"}}`, echoing,
		tools.Metadata{Name: "N<😀>", Keywords: []string{" x", "y "}, Prerequisites: []string{"b", " a ", "b"}, FlattenedStrings: true}))
	x, ok := p.catalogs.find(p.registry, "ns.t")
	require.True(t, ok)
	want := `{"id":"ns.t","name":"N\u003C\uD83D\uDE00\u003E","description":"For tests.","category":"ns","policy":"read",` +
		`"argumentsSchema":{"type":"object","properties":{"a":{"type":["integer","null"]},"b":{"type":"string","description":"d","enum":["\u00E9"]}},"required":["b"]},` +
		`"resultSchema":{"type":"array","items":{"type":"string","format":"uuid"}},"keywords":"x y","prerequisiteToolIds":["a","b"],"argumentEncoding":"flattened-string"`
	assert.Equal(t, revisionOf([]byte(want+"}")), x.revision)
	assert.Equal(t, want+`,"definitionRevision":"`+x.revision+`"`, string(x.full))
}

func TestTextIsEscapedAsTheDefaultEncoderDoes(t *testing.T) {
	for in, want := range map[string]string{
		`"&'+<>` + "`":  `\u0022\u0026\u0027\u002B\u003C\u003E\u0060`,
		"\\\b\t\n\f\r":  `\\\b\t\n\f\r`,
		"/ ~ !#$%()*,-": `/ ~ !#$%()*,-`,
		"\x00\x1f\x7f":  `\u0000\u001F\u007F`,
		"é€ÿ\u2028":     `\u00E9\u20AC\u00FF\u2028`,
		"😀":             `\uD83D\uDE00`,
		"\xff":          `\uFFFD`,
	} {
		assert.Equal(t, `"`+want+`"`, string(appendQuoted(nil, in)))
		var back string
		require.NoError(t, json.Unmarshal(appendQuoted(nil, in), &back))
		assert.Equal(t, valid(in), back)
	}
}

func TestAvailabilityAndTimeDoNotMoveTheRevision(t *testing.T) {
	state := tools.Available()
	p := providerOf(t, tool("tools.ns.t", "", "", echoing, tools.Metadata{Probe: func(context.Context) tools.Availability { return state }}))
	before := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	state = tools.Unavailable("busy", "It is busy.")
	down := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	state.RequiredState = "idle"
	other := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	state = tools.Available()
	after := answerOf(t, p, TypeQuery, TypeCatalog, `{}`)
	assert.Equal(t, text(before, "revision"), text(down, "revision"))
	assert.NotEqual(t, text(before, "availabilityRevision"), text(down, "availabilityRevision"))
	assert.NotEqual(t, text(other, "availabilityRevision"), text(down, "availabilityRevision"))
	assert.Equal(t, text(before, "availabilityRevision"), text(after, "availabilityRevision"))
	want := revisionOf([]byte(`{"tools":[{"id":"ns.t","runtime":{"available":false,"code":"busy","reason":"It is busy."}}]}`))
	assert.Equal(t, want, text(down, "availabilityRevision"))
}

func TestTheGuardAndTheToolsMoveTheRevision(t *testing.T) {
	r := registryOf(t, tools.FullAccess(), jsonEcho())
	p := NewProvider(r, ProviderConfig{})
	revision := func() string { return text(answerOf(t, p, TypeQuery, TypeCatalog, `{}`), "revision") }
	first := revision()
	r.SetGuard(tools.ReadOnly())
	assert.Equal(t, echoRevision, revision())
	r.SetGuard(tools.FullAccess())
	assert.Equal(t, first, revision())
	require.NoError(t, r.Replace(jsonEcho().With(tools.Metadata{Policy: tools.PolicyRead, Name: "Other"})))
	assert.NotEqual(t, first, revision())
	require.NoError(t, r.Replace(jsonEcho()))
	assert.Equal(t, first, revision(), "what is said is hashed, not when")
	assert.True(t, r.Remove("tools.json.echo"))
	assert.NotEqual(t, first, revision())
	assert.Equal(t, first, text(answerOf(t, providerOf(t, jsonEcho()), TypeQuery, TypeCatalog, `{}`), "revision"))
}

func TestOneChangedToolLeavesTheDefinitionsOfTheOthers(t *testing.T) {
	r := registryOf(t, tools.FullAccess(), jsonEcho(), tool("tools.a.b", "", "", echoing, tools.Metadata{}))
	p := NewProvider(r, ProviderConfig{})
	before, _ := p.catalogs.of(t.Context(), r)
	require.NoError(t, r.Replace(tool("tools.a.b", "", "", echoing, tools.Metadata{Name: "New"})))
	after, _ := p.catalogs.of(t.Context(), r)
	assert.NotSame(t, before.tools[0], after.tools[0])
	assert.Same(t, before.tools[1], after.tools[1])
}
