package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

type level string

func (level) JSONSchema() json.RawMessage { return json.RawMessage(`{"enum":["low","high"]}`) }

type badLevel string

func (badLevel) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":7}`) }

type ownJSON struct{}

func (*ownJSON) UnmarshalJSON([]byte) error { return nil }

type inner struct {
	Unit string `json:"unit" default:"m" enum:"m, ft"`
}

type Base struct {
	Label string `json:"label" minLength:"1" maxLength:"9" pattern:"^[a-z]+$"`
	Name  string `json:"name,omitempty"`
}

type tagged struct {
	Count   int      `json:"count" jsonschema:"how many dice" minimum:"1" maximum:"100"`
	Sides   int      `json:"sides,omitempty" default:"6"`
	Mode    *string  `json:"mode" enum:"fast,slow"`
	Words   []string `json:"words" enum:"a,b" minItems:"1" maxItems:"3"`
	Ratio   float32  `json:"ratio,omitzero" enum:"0.5,1"`
	Mail    string   `json:"mail,omitempty" format:"email"`
	On      bool     `default:"true"`
	Skipped func()   `json:"-"`
}

type lists struct {
	Plain   []int            `json:"plain"`
	Pointer *[]int           `json:"pointer"`
	Deep    [][]string       `json:"deep"`
	Pairs   [2]bool          `json:"pairs"`
	Byname  map[string][]any `json:"byname"`
	Inner   []inner          `json:"inner"`
	Maybe   *inner           `json:"maybe"`
}

type special struct {
	When  time.Time        `json:"when"`
	Bytes []byte           `json:"bytes"`
	Raw   json.RawMessage  `json:"raw"`
	RawP  *json.RawMessage `json:"rawp"`
	Num   json.Number      `json:"num"`
	Big   *big.Int         `json:"big"`
	Addr  netip.Addr       `json:"addr"`
	Any   any              `json:"any"`
	Level level            `json:"level"`
	For   time.Duration    `json:"for"`
}

type embedding struct {
	Base
	*Deeper
	Named Base `json:"named"`
	Name  int  `json:"name"` // hides Base's
}

type Deeper struct {
	Depth uint8 `json:"depth" default:"3"`
}

type embeddedByName struct {
	Base `json:"base"`
}

// schemaTexts are Go types and the schemas that are inferred from them.
var schemaTexts = []struct {
	name string
	tool func(testing.TB) *tools.Tool
	want string
}{
	{"no arguments are a closed empty object", echo[struct{}], `{"type":"object","properties":{},"additionalProperties":false}`},
	{"a pointer to a struct of arguments is the struct", echo[map[string]int], `{"type":"object","additionalProperties":{"type":"integer"}}`},
	{"any takes every object", echo[any], `{"type":"object"}`},
	{"raw JSON takes every object", echo[json.RawMessage], `{"type":"object"}`},
	{"tags write keywords", echo[tagged], `{"type":"object","additionalProperties":false,"required":["count","mode","words"],"properties":{
		"count":{"type":"integer","description":"how many dice","minimum":1,"maximum":100},
		"sides":{"type":"integer","default":6},
		"mode":{"type":["null","string"],"enum":["fast","slow",null]},
		"words":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":3},
		"ratio":{"type":"number","enum":[0.5,1]},
		"mail":{"type":"string","format":"email"},
		"On":{"type":"boolean","default":true}}}`},
	{"lists are never null, pointers to them are", echo[lists], `{"type":"object","additionalProperties":false,
		"required":["plain","pointer","deep","pairs","byname","inner","maybe"],"properties":{
		"plain":{"type":"array","items":{"type":"integer"}},
		"pointer":{"type":["null","array"],"items":{"type":"integer"}},
		"deep":{"type":"array","items":{"type":"array","items":{"type":"string"}}},
		"pairs":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2},
		"byname":{"type":"object","additionalProperties":{"type":"array","items":true}},
		"inner":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"unit":{"type":"string","enum":["m","ft"],"default":"m"}}}},
		"maybe":{"type":["null","object"],"additionalProperties":false,"properties":{"unit":{"type":"string","enum":["m","ft"],"default":"m"}}}}}`},
	{"types are what encoding/json makes of them", echo[special], `{"type":"object","additionalProperties":false,
		"required":["when","bytes","raw","rawp","num","big","addr","any","level","for"],"properties":{
		"when":{"type":"string","format":"date-time"},"bytes":{"type":"string","contentEncoding":"base64"},
		"raw":true,"rawp":true,"num":{"type":"number"},"big":{"type":["null","integer"]},"addr":{"type":"string"},
		"any":true,"level":{"enum":["low","high"]},"for":{"type":"integer"}}}`},
	{"members of embedded structs are members", echo[embedding], `{"type":"object","additionalProperties":false,
		"required":["label","named","name"],"properties":{
		"label":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[a-z]+$"},
		"depth":{"type":"integer","minimum":0,"maximum":255,"default":3},
		"named":{"type":"object","additionalProperties":false,"required":["label"],"properties":{
			"label":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[a-z]+$"},"name":{"type":"string"}}},
		"name":{"type":"integer"}}}`},
	{"an embedded struct with a name is a member", echo[embeddedByName], `{"type":"object","additionalProperties":false,
		"required":["base"],"properties":{"base":{"type":"object","additionalProperties":false,"required":["label"],"properties":{
			"label":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[a-z]+$"},"name":{"type":"string"}}}}}`},
}

func TestSchemasAreInferredFromGoTypes(t *testing.T) {
	for _, c := range schemaTexts {
		t.Run(c.name, func(t *testing.T) {
			tool := c.tool(t)
			require.NoError(t, tool.Err())
			assert.JSONEq(t, c.want, string(tool.Descriptor().Input))
			descriptor, err := json.Marshal(tool.Descriptor())
			require.NoError(t, err)
			assert.Empty(t, manifest.ValidateDescriptor(descriptor))
		})
	}
}

func TestResultsMayBeOfAnyType(t *testing.T) {
	for name, c := range map[string]struct {
		tool *tools.Tool
		want string
	}{
		"any":       {tools.New(echoID, "d", func(context.Context, struct{}) (any, error) { return nil, nil }), `{}`},
		"a number":  {tools.New(echoID, "d", func(context.Context, struct{}) (float64, error) { return 0, nil }), `{"type":"number"}`},
		"a list":    {tools.New(echoID, "d", func(context.Context, struct{}) ([]string, error) { return nil, nil }), `{"type":"array","items":{"type":"string"}}`},
		"a pointer": {tools.New(echoID, "d", func(context.Context, *struct{}) (*inner, error) { return nil, nil }), `{"type":["null","object"],"additionalProperties":false,"properties":{"unit":{"type":"string","enum":["m","ft"],"default":"m"}}}`},
	} {
		require.NoError(t, c.tool.Err(), name)
		assert.JSONEq(t, c.want, string(c.tool.Descriptor().Output), name)
		_, err := open(t, c.tool).InvokeTool(t.Context(), echoID, nil)
		assert.NoError(t, err, name)
	}
}

// In takes whatever stands in a field.
type in[T any] struct {
	Filters []struct {
		When T `json:"when"`
	} `json:"filters"`
}

type node struct {
	Next *node `json:"next"`
}

type forest map[string]forest

type nest [][2]nest

type selfPointer *selfPointer

type chain struct {
	Value boxed[map[string]chain] `json:"value"`
}

type boxed[T any] struct {
	Next T `json:"next"`
}

// Pair and its fellows embed each other along ever more ways.
type Pair struct {
	*Twin
	*Third
}

type Twin struct {
	*Pair
	*Third
}

type Third struct {
	*Pair
	*Twin
}

type quoted struct {
	N int `json:"n,string"`
}

type twins struct {
	Left
	Right
}

type Left struct {
	X int
}

type Right struct {
	X int
}

type selfish struct{ *Selfish }

type Selfish struct{ *Selfish }

func inexpressible[T any](path, reason string) func(*testing.T) {
	return func(t *testing.T) {
		tool := tools.New(echoID, "d", func(context.Context, T) (any, error) { return nil, nil })
		err := tools.NewRegistry(tools.Config{}).Register(tool)
		r := requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"capability_id": echoID, "field": "input", "path": path})
		assert.Contains(t, r.Message, reason)
		if path != "" {
			assert.Contains(t, r.Message, path+": ")
		}
	}
}

func TestATypeThatCannotBeExpressedFailsWithTheMembersPath(t *testing.T) {
	for name, check := range map[string]func(*testing.T){
		"a function":                      inexpressible[in[func()]]("filters[].when", "func()"),
		"a channel":                       inexpressible[in[chan int]]("filters[].when", "chan int"),
		"a complex number":                inexpressible[in[map[string]complex128]]("filters[].when{}", "complex128"),
		"an interface with methods":       inexpressible[in[fmt.Stringer]]("filters[].when", "fmt.Stringer"),
		"a map by number":                 inexpressible[in[map[int]string]]("filters[].when", "only maps by string"),
		"a type that has itself":          inexpressible[in[node]]("filters[].when.next", "contains itself"),
		"a type with its own JSON":        inexpressible[in[ownJSON]]("filters[].when", "JSONSchema method"),
		"a wrong schema of its own":       inexpressible[in[badLevel]]("filters[].when", "JSONSchema of"),
		"a schema that is not there":      inexpressible[in[struct{ tools.SchemaProvider }]]("filters[].when", "panic"),
		"a schema that a nil pointer has": inexpressible[in[struct{ *level }]]("filters[].when", "panic"),
		"a quoted number":                 inexpressible[in[quoted]]("filters[].when.n", `"string"`),
		"two members of one name":         inexpressible[in[twins]]("filters[].when", `two fields named "X"`),
		"a struct that embeds itself": inexpressible[struct {
			When selfish
		}]("When", "contains itself"),
		"structs that embed each other": inexpressible[struct {
			When Pair
		}]("When", "contains itself"),
		"a map that has itself":               inexpressible[in[forest]]("filters[].when{}", "contains itself"),
		"a list that has itself":              inexpressible[in[nest]]("filters[].when[][]", "contains itself"),
		"a pointer to itself":                 inexpressible[in[selfPointer]]("filters[].when", "contains itself"),
		"arguments that are a pointer to it":  inexpressible[selfPointer]("", "contains itself"),
		"a type that has itself in a generic": inexpressible[in[chain]]("filters[].when.value.next{}", "contains itself"),
		"arguments that are a map of it":      inexpressible[forest]("{}", "contains itself"),
		"arguments that are a number":         inexpressible[int]("", "not a JSON object"),
		"a name with a quote": inexpressible[struct {
			A int "json:\"a'b\""
		}]("A", `"a'b" cannot be a name`),
		"a name in quotes": inexpressible[struct {
			A int `json:"'a,b',omitempty"`
		}]("A", "cannot be a name"),
		"a name with a double quote": inexpressible[struct {
			A int "json:\"a\\\"b\""
		}]("A", "cannot be a name"),
		"a name with a backslash": inexpressible[struct {
			A int "json:\"a\\\\b\""
		}]("A", "cannot be a name"),
		"a name with a backquote": inexpressible[struct {
			A int "json:\"a`b\""
		}]("A", "cannot be a name"),
		"a name that is no UTF-8": inexpressible[struct {
			A int "json:\"a\\xff\""
		}]("A", "cannot be a name"),
		"a minimum of text": inexpressible[struct {
			A string `minimum:"1"`
		}]("A", "minimum does not fit string"),
		"a minimum that is no number": inexpressible[struct {
			A int `minimum:"one"`
		}]("A", "the tag minimum"),
		"a length below zero": inexpressible[struct {
			A string `maxLength:"-1"`
		}]("A", "the tag maxLength"),
		"an enum of the wrong type": inexpressible[struct {
			A []int `enum:"1,x"`
		}]("A", `"x" is not JSON`),
		"a default that is no JSON": inexpressible[struct {
			A int `default:"six"`
		}]("A", `"six" is not JSON`),
		"a default outside its own bounds": inexpressible[struct {
			A int `default:"6" maximum:"5"`
		}]("A", "the tag default"),
		"a default that the Go type cannot hold": inexpressible[struct {
			A int64 `default:"1e30"`
		}]("A", "the tag default is no int64"),
		"a pattern that is none": inexpressible[struct {
			A string `default:"x" pattern:"("`
		}]("A", "pattern"),
	} {
		t.Run(name, check)
	}
}

func TestAResultThatCannotBeExpressedIsBlamedOnTheOutput(t *testing.T) {
	tool := tools.New(echoID, "d", func(context.Context, struct{}) (in[func()], error) { return in[func()]{}, nil })
	requireReject(t, tool.Err(), spoke.CodeInvalidInput,
		map[string]any{"capability_id": echoID, "field": "output", "path": "filters[].when"})
}

func TestDefaultsAreFilledInWhereverTheyStand(t *testing.T) {
	type everywhere struct {
		embedding
		Sides int              `json:"sides" default:"6"`
		Tags  []string         `json:"tags" default:"[\"a\"]"`
		One   inner            `json:"one"`
		List  []inner          `json:"list"`
		Map   map[string]inner `json:"map"`
		Ptr   *inner           `json:"ptr"`
	}
	var seen []everywhere
	tool := tools.New(echoID, "d", func(_ context.Context, in everywhere) (any, error) {
		seen = append(seen, in)
		in.Tags[0] = "changed"
		return nil, nil
	})
	r := open(t, tool)
	args := text(`{"label":"a","name":1,"named":{"label":"b"},"one":{},"list":[{},{"unit":"ft"}],"map":{"k":{}},"ptr":{}}`)
	for range 2 {
		_, err := r.InvokeTool(t.Context(), echoID, args)
		require.NoError(t, err)
	}
	for i, in := range seen {
		assert.EqualValues(t, 3, in.Depth)
		assert.Equal(t, 6, in.Sides)
		assert.Equal(t, "m", in.One.Unit)
		assert.Equal(t, []inner{{"m"}, {"ft"}}, in.List)
		assert.Equal(t, map[string]inner{"k": {"m"}}, in.Map)
		assert.Equal(t, &inner{"m"}, in.Ptr)
		assert.Equal(t, []string{"changed"}, in.Tags, "call %d has a list of its own", i)
	}
	_, err := r.InvokeTool(t.Context(), echoID,
		text(`{"label":"a","name":1,"named":{"label":"b"},"one":{},"list":[],"map":{},"ptr":null,"sides":0,"tags":["b"],"depth":0}`))
	require.NoError(t, err)
	last := seen[2]
	assert.Zero(t, last.Sides, "a member that is given is no default")
	assert.Zero(t, last.Depth)
	assert.Nil(t, last.Ptr)
}

type counts struct {
	A int `json:"a,omitempty"`
	B int `json:"b,omitempty"`
}

func TestAMemberThatIsGivenHasNothingOfItsDefault(t *testing.T) {
	type everyKind struct {
		Map    map[string]int `json:"map" default:"{\"a\":1}"`
		List   []counts       `json:"list" default:"[{\"a\":1},{\"a\":2}]"`
		Array  [2]counts      `json:"array" default:"[{\"a\":1},{\"a\":2}]"`
		Struct counts         `json:"struct" default:"{\"a\":1}"`
		Ptr    *counts        `json:"ptr" default:"{\"a\":1}"`
		Any    any            `json:"any" default:"{\"a\":1}"`
	}
	var seen []everyKind
	r := open(t, tools.New(echoID, "d", func(_ context.Context, in everyKind) (any, error) {
		seen = append(seen, in)
		return nil, nil
	}))
	for _, args := range []string{`{}`, `{"map":{"b":2},"list":[{"b":2}],"array":[{"b":2},{}],"struct":{"b":2},"ptr":{"b":2},"any":{"b":2}}`,
		`{"ptr":null,"any":null}`} {
		_, err := r.InvokeTool(t.Context(), echoID, text("%s", args))
		require.NoError(t, err)
	}
	assert.Equal(t, everyKind{map[string]int{"a": 1}, []counts{{A: 1}, {A: 2}}, [2]counts{{A: 1}, {A: 2}}, counts{A: 1}, &counts{A: 1}, map[string]any{"a": 1.0}}, seen[0])
	assert.Equal(t, everyKind{map[string]int{"b": 2}, []counts{{B: 2}}, [2]counts{{B: 2}, {}}, counts{B: 2}, &counts{B: 2}, map[string]any{"b": 2.0}}, seen[1])
	assert.Nil(t, seen[2].Ptr)
	assert.Nil(t, seen[2].Any)
}

func TestADefaultIsFilledInByTheDefaultsOfItsOwnMembers(t *testing.T) {
	type middle struct {
		Inner inner            `json:"inner" default:"{}"`
		List  []inner          `json:"list" default:"[{},{\"unit\":\"ft\"}]"`
		Map   map[string]inner `json:"map" default:"{\"k\":{}}"`
	}
	type outer struct {
		Middle  middle  `json:"middle" default:"{}"`
		Pointer *middle `json:"pointer" default:"{\"list\":[]}"`
		Again   middle  `json:"again" default:"{\"inner\":{}}"`
	}
	var seen []outer
	r := open(t, tools.New(echoID, "d", func(_ context.Context, in outer) (any, error) {
		seen = append(seen, in)
		return nil, nil
	}))
	for _, args := range []string{`{}`, `{"middle":{},"pointer":{"list":[]},"again":{"inner":{}}}`} {
		_, err := r.InvokeTool(t.Context(), echoID, text("%s", args))
		require.NoError(t, err)
	}
	full := middle{inner{"m"}, []inner{{"m"}, {"ft"}}, map[string]inner{"k": {"m"}}}
	assert.Equal(t, outer{full, &middle{full.Inner, []inner{}, full.Map}, full}, seen[0])
	assert.Equal(t, seen[0], seen[1], "a default counts like the same text in the arguments")
}

func TestArgumentsThatFitTheSchemaAndNotTheTypeAreInvalidInput(t *testing.T) {
	r := open(t, echo[struct {
		N int `json:"n"`
	}](t))
	for _, args := range []string{`{"n":1e300}`, `{"n":"1"}`, `{"N":1}`, `{"n":1,"m":2}`, `{}`} {
		_, err := r.InvokeTool(t.Context(), echoID, text("%s", args))
		reject := rejectOf(t, err)
		assert.Equal(t, spoke.CodeInvalidInput, reject.Code, args)
		assert.Equal(t, "arguments", reject.Details["field"], args)
	}
	got, err := r.InvokeTool(t.Context(), echoID, text(`{"n":2.0}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"n":2}`, string(got))
}

// Whatever arguments come, a typed tool answers them or refuses them as invalid input,
// and what it answers it takes again.
func FuzzTypedArguments(f *testing.F) {
	type all struct {
		tagged
		*Embedded
		Lists   *lists         `json:"lists,omitempty"`
		Special *special       `json:"special,omitempty"`
		Texts   *texts         `json:"texts,omitempty"`
		Bytes   *byteKinds     `json:"bytes,omitempty"`
		Counts  map[string]int `json:"counts" default:"{\"a\":1}"`
		Inner   *inner         `json:"inner" default:"{}"`
	}
	seeds := []string{
		`{"count":2,"mode":null,"words":["a"]}`,
		`{"count":2,"mode":"fast","words":["a","b"],"sides":8,"mail":"a@b.c","On":false,"ratio":0.5}`,
		`{"count":1,"mode":"slow","words":["b"],"lists":{"plain":[],"pointer":null,"deep":[["x"]],"pairs":[true,false],"byname":{"k":[1,null]},"inner":[{}],"maybe":{}}}`,
		`{"count":1,"mode":"slow","words":["b"],"special":{"when":"2026-01-02T03:04:05Z","bytes":"AAE=","raw":{"a":1},"rawp":null,"num":1.5,"big":9007199254740992,"addr":"::1","any":[1],"level":"low","for":5}}`,
		`{"count":1,"mode":"slow","words":["b"],"Text":"a","extra":null,"counts":{"b":2},"inner":null,"texts":{"text":"grade 1","list":["grade 2"],"pointers":[null,"grade 3"],"array":["grade 1","grade 2","grade 3"],"map":{"a":"grade 4"},"by_code":{"b":5},"Behind":{"Grade":"grade 6"}}}`,
		`{"count":1,"mode":"slow","words":["b"],"inner":{"unit":"ft"},"bytes":{"Bytes":"AQI=","Named":"","Array":[0,1,2,255],"Matrix":["AQ==",""],"Map":{"a":"AQ=="},"Maybe":null,"Fixed":[1,2]}}`,
	}
	r := open(f, echo[all](f))
	for _, seed := range seeds {
		_, err := r.InvokeTool(f.Context(), echoID, json.RawMessage(seed))
		require.NoError(f, err, "a seed is refused")
		f.Add([]byte(seed))
	}
	require.NotEmpty(f, seeds)
	f.Fuzz(func(t *testing.T, args []byte) {
		before := bytes.Clone(args)
		got, err := r.InvokeTool(t.Context(), echoID, json.RawMessage(args))
		require.Equal(t, before, args)
		if err != nil {
			if spoke.KindOf(err) != spoke.KindResult {
				require.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err), "%v", err)
			}
			return
		}
		again, err := r.InvokeTool(t.Context(), echoID, got)
		require.NoError(t, err, "%s", got)
		require.Equal(t, string(got), string(again))
	})
}
