package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// grade has a text form that only its pointer writes.
type grade uint8

func (g *grade) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "grade %d", *g), nil }

func (g *grade) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "grade %d", g)
	return err
}

// printed and parsed have a text form in one direction.
type printed uint8

func (p printed) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "printed %d", p), nil }

type parsed uint8

func (p *parsed) UnmarshalText([]byte) error { return nil }

type parsedString string

func (p *parsedString) UnmarshalText(text []byte) error { *p = parsedString(text); return nil }

// appended has a text form by AppendText alone.
type appended uint8

func (a appended) AppendText(b []byte) ([]byte, error) { return fmt.Appendf(b, "appended %d", a), nil }

// streamed writes and reads itself token by token.
type streamed uint8

func (s streamed) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String("streamed"))
}

func (s *streamed) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

type octet byte

type GradePointer struct {
	Grade grade
}

func inexpressibleResult[T any](path, reason string) func(*testing.T) {
	return func(t *testing.T) {
		tool := tools.New(echoID, "d", func(context.Context, struct{}) (T, error) { panic("not called") })
		r := requireReject(t, tool.Err(), spoke.CodeInvalidInput, map[string]any{"capability_id": echoID, "field": "output", "path": path})
		assert.Contains(t, r.Message, reason)
	}
}

func TestAFormOfItsOwnIsJudgedInTheDirectionThatIsUsed(t *testing.T) {
	const behind, unread, unwritten = "only behind a pointer", "cannot be read", "cannot be written"
	for name, check := range map[string]func(*testing.T){
		"a big number by value":                   inexpressibleResult[struct{ N big.Int }]("N", "use *big.Int"),
		"a big number by itself":                  inexpressibleResult[big.Int]("", behind),
		"a text that a pointer writes":            inexpressibleResult[struct{ G grade }]("G", behind),
		"such a text in an array":                 inexpressibleResult[struct{ G [2]grade }]("G[]", behind),
		"such a text in a map, pointer around":    inexpressibleResult[*map[string]grade]("{}", behind),
		"such a text in an embedded struct":       inexpressibleResult[struct{ GradePointer }]("Grade", behind),
		"a text that is only read":                inexpressibleResult[struct{ P parsed }]("P", unwritten),
		"a text that is only written":             inexpressible[struct{ P printed }]("P", unread),
		"a text that is only appended":            inexpressible[struct{ P appended }]("P", unread),
		"a JSON form of its own, token by token":  inexpressible[struct{ S streamed }]("S", "JSONSchema method"),
		"such a form of a result":                 inexpressibleResult[struct{ S streamed }]("S", "JSONSchema method"),
		"a big number that arguments are read in": expressible[struct{ N big.Int }],
		"a text that is read by a pointer":        expressible[struct{ G map[string]grade }],
		"a text that is read in a string":         expressible[struct{ P parsedString }],
	} {
		t.Run(name, check)
	}
}

func expressible[T any](t *testing.T) {
	require.NoError(t, tools.New(echoID, "d", func(context.Context, T) (any, error) { return nil, nil }).Err())
}

func TestWhatEncodesItselfIsEncodedWhereverItsMethodsAreCalled(t *testing.T) {
	seven := grade(7)
	for name, run := range map[string]func(*testing.T){
		"a big number":              results(struct{ N *big.Int }{big.NewInt(5)}, `{"N":5}`),
		"behind a pointer":          results(&struct{ G grade }{7}, `{"G":"grade 7"}`),
		"a pointer":                 results(struct{ G *grade }{&seven}, `{"G":"grade 7"}`),
		"in a map":                  results(map[string]*grade{"a": &seven, "b": nil}, `{"a":"grade 7","b":null}`),
		"in an array by pointer":    results(&struct{ G [1]grade }{[1]grade{7}}, `{"G":["grade 7"]}`),
		"in a struct in a list":     results([]struct{ G grade }{{7}}, `[{"G":"grade 7"}]`),
		"in an embedded pointer":    results(struct{ *GradePointer }{&GradePointer{7}}, `{"Grade":"grade 7"}`),
		"a text that is appended":   results(struct{ A appended }{7}, `{"A":"appended 7"}`),
		"a text that is not read":   results(struct{ A printed }{7}, `{"A":"printed 7"}`),
		"in a list of bytes":        results(struct{ G []grade }{[]grade{7, 8}}, `{"G":["grade 7","grade 8"]}`),
		"bytes without a form":      results(struct{ B []octet }{[]octet{1, 2}}, `{"B":"AQI="}`),
		"an array of bytes":         results(struct{ B [2]octet }{[2]octet{1, 2}}, `{"B":[1,2]}`),
		"a string that is not text": results(struct{ A parsedString }{"x"}, `{"A":"x"}`),
	} {
		t.Run(name, run)
	}
}

// results checks that a tool answers with v as it is encoded, which fits its output.
func results[T any](v T, want string) func(*testing.T) {
	return func(t *testing.T) {
		got, err := open(t, tools.New(echoID, "d", func(context.Context, struct{}) (T, error) { return v, nil })).InvokeTool(t.Context(), echoID, nil)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got))
	}
}

func TestBytesWithAFormOfTheirOwnAreReadOneByOne(t *testing.T) {
	type bytes struct {
		Grades []grade  `json:"grades"`
		Octets []octet  `json:"octets"`
		Array  [2]octet `json:"array"`
	}
	var seen bytes
	r := open(t, tools.New(echoID, "d", func(_ context.Context, in bytes) (any, error) { seen = in; return nil, nil }))
	_, err := r.InvokeTool(t.Context(), echoID, text(`{"grades":["grade 7"],"octets":"AQI=","array":[1,2]}`))
	require.NoError(t, err)
	assert.Equal(t, bytes{[]grade{7}, []octet{1, 2}, [2]octet{1, 2}}, seen)
	_, err = r.InvokeTool(t.Context(), echoID, text(`{"grades":"AQI=","octets":"AQI=","array":[1,2]}`))
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
}

// The types below say what their JSON looks like, each by another keyword.
type (
	byEnum  string
	byBoth  string
	byConst string
	byAnyOf string
	byAllOf string
	byNot   string
	byIf    string
)

func (byEnum) JSONSchema() json.RawMessage  { return text(`{"enum":["x","y"]}`) }
func (byBoth) JSONSchema() json.RawMessage  { return text(`{"type":"string","enum":["x","y"]}`) }
func (byConst) JSONSchema() json.RawMessage { return text(`{"const":"x"}`) }
func (byAnyOf) JSONSchema() json.RawMessage { return text(`{"anyOf":[{"const":"x"},{"const":"y"}]}`) }
func (byAllOf) JSONSchema() json.RawMessage { return text(`{"allOf":[{"type":"string"}]}`) }
func (byNot) JSONSchema() json.RawMessage   { return text(`{"not":{"enum":[null,"z"]}}`) }
func (byIf) JSONSchema() json.RawMessage {
	return text(`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"number"}}`)
}

func TestAPointerToATypeThatSaysItsSchemaMayBeNull(t *testing.T) {
	for name, check := range map[string]func(*testing.T){
		"enum": nullable[byEnum], "type and enum": nullable[byBoth], "const": nullable[byConst],
		"anyOf": nullable[byAnyOf], "allOf": nullable[byAllOf], "not": nullable[byNot], "if": nullable[byIf],
	} {
		t.Run(name, check)
	}
}

// nullable checks that null and "x" are a *S and that S still judges.
func nullable[S ~string](t *testing.T) {
	type member struct {
		S *S            `json:"s"`
		L []*S          `json:"l"`
		M map[string]*S `json:"m"`
	}
	r := open(t, echo[member](t))
	want := `{"s":null,"l":[null,"x"],"m":{"a":null,"b":"x"}}`
	got, err := r.InvokeTool(t.Context(), echoID, text("%s", want))
	require.NoError(t, err)
	assert.JSONEq(t, want, string(got))
	for _, s := range []string{`1`, `"zz"`, `"z"`} {
		if _, err = r.InvokeTool(t.Context(), echoID, text(`{"s":%s,"l":[],"m":{}}`, s)); err != nil {
			break
		}
	}
	assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err), "anything is accepted")
}

type byDefault string

func (byDefault) JSONSchema() json.RawMessage { return text(`{"const":"x","default":"x"}`) }

func TestADefaultThatATypeSaysIsThePointersToo(t *testing.T) {
	r := open(t, echo[struct {
		S *byDefault `json:"s"`
	}](t))
	for args, want := range map[string]string{`{}`: `{"s":"x"}`, `{"s":null}`: `{"s":null}`} {
		got, err := r.InvokeTool(t.Context(), echoID, text("%s", args))
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got))
	}
}
