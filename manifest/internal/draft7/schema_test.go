package draft7

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
)

// verdicts are values that a schema accepts and values that it refuses.
var verdicts = []struct {
	name    string
	schema  string
	accepts []string
	refuses []string
}{
	{"true accepts everything", `true`, []string{`1`, `null`}, nil},
	{"false accepts nothing", `false`, nil, []string{`1`, `{}`}},
	{"type names one type", `{"type":"integer"}`, []string{`1`, `1.0`, `1e300`}, []string{`1.5`, `"1"`, `null`, `1e-7`}},
	{"type names several types", `{"type":["string","null"]}`, []string{`"a"`, `null`}, []string{`1`, `[]`}},
	{"enum lists values of any type", `{"enum":[1,"a",null,{"b":[2]}]}`, []string{`1.0`, `"a"`, `null`, `{"b":[2]}`}, []string{`2`, `{"b":[3]}`}},
	{"enum may repeat a value", `{"enum":[1,1.0,2]}`, []string{`1`, `2`}, []string{`3`}},
	{"const may be null", `{"const":null}`, []string{`null`}, []string{`0`, `false`}},
	{"const may look like a reference", `{"const":{"$ref":"http://x/"}}`, []string{`{"$ref":"http://x/"}`}, []string{`{}`}},
	{"multipleOf is decimal", `{"multipleOf":0.1}`, []string{`0.3`}, []string{`0.35`}},
	{"bounds include or exclude", `{"minimum":1,"exclusiveMaximum":3}`, []string{`1`, `2.9`}, []string{`0.9`, `3`}},
	{"bounds exclude or include", `{"exclusiveMinimum":1,"maximum":3}`, []string{`1.1`, `3`}, []string{`1`, `3.1`}},
	{"length counts characters", `{"minLength":2,"maxLength":2}`, []string{`"éé"`, `"😀😀"`, `7`}, []string{`"a"`, `"abc"`}},
	{"a count may be written as a float or be huge", `{"maxLength":1e30,"minLength":1.0}`, []string{`"a"`}, []string{`""`}},
	{"pattern searches", `{"pattern":"b+$"}`, []string{`"abb"`, `7`}, []string{`"ba"`}},
	{"format holds for strings", `{"format":"date"}`, []string{`"2024-02-29"`}, []string{`"2023-02-29"`}},
	{"format does not hold for numbers", `{"format":"date"}`, []string{`5`, `null`, `{}`}, nil},
	{"format beside a type", `{"type":["string","integer"],"format":"date"}`, []string{`5`, `"2024-02-29"`}, []string{`"x"`, `1.5`}},
	{"format beside allOf", `{"format":"date","allOf":[{"minLength":11}]}`, []string{`5`}, []string{`"2024-02-29"`}},
	{"format of strings only", `{"type":"string","format":"ipv4"}`, []string{`"1.2.3.4"`}, []string{`"1.2.3"`}},
	{"date is a day of the calendar", `{"format":"date"}`, []string{`"2024-02-29"`}, []string{`"2023-02-29"`, `"2024-2-29"`, `"2024-02-29T00:00:00Z"`, `"24-02-29"`}},
	{"date-time is of RFC 3339", `{"format":"date-time"}`,
		[]string{`"2026-01-01T01:00:00Z"`, `"2026-01-01t01:00:00.5z"`, `"1998-12-31T23:59:60Z"`, `"1990-12-31T15:59:60-08:00"`},
		[]string{`"12:00:00"`, `"12:00:00Z"`, `"2026-01-01"`, `"2026-01-01T1:00:00Z"`, `"2026-01-01T01:00:00,5Z"`, `"2026-01-01T01:00:00"`, `"1998-12-31T23:58:60Z"`}},
	{"time is the time of RFC 3339", `{"format":"time"}`,
		[]string{`"12:00:00Z"`, `"12:00:00.5z"`, `"23:59:60Z"`, `"01:02:03+05:30"`},
		[]string{`"12:00:00"`, `"1:00:00Z"`, `"12:00:00,5Z"`, `"22:59:60Z"`, `"2026-01-01T01:00:00Z"`}},
	{"uuid is in any case", `{"format":"uuid"}`,
		[]string{`"2EB8AA08-AA98-11EA-B4AA-73B441D16380"`, `"2eb8aa08-aa98-11ea-b4aa-73b441d16380"`},
		[]string{`"2eb8aa08aa9811eab4aa73b441d16380"`, `"{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"`, `"2eb8aa08-aa98-11ea-b4aa-73b441d1638g"`, `"2eb8aa08-aa98-11ea-b4aa-73b441d16380\n"`}},
	{"email is an address alone", `{"format":"email"}`,
		[]string{`"joe@example.com"`, `"joe.bloggs+x@example.com"`, `"\"joe bloggs\"@example.com"`, `"\"joe\"@example.com"`, `"\"joe@home\"@example.com"`},
		[]string{`"Joe <joe@example.com>"`, `"<joe@example.com>"`, `"joe@example.com (Joe)"`, `"joe(Joe)@example.com"`, `" joe@example.com"`, `"joe@example.com "`, `"joe@ example.com"`, `"joe"`, `"@example.com"`, `"\"Joe\" <joe@example.com>"`, `"\"joe\" @example.com"`, `"a@b.c, d@e.f"`, `"\"joe\"@example.com (\"@example.com"`}},
	{"idn-email is an address alone", `{"format":"idn-email"}`, []string{`"실례@실례.테스트"`}, []string{`"Joe <실례@실례.테스트>"`}},
	{"ipv4 is not an address of IPv6", `{"format":"ipv4"}`, []string{`"1.2.3.4"`}, []string{`"::ffff:1.2.3.4"`, `"1.2.3"`, `"1.2.3.04"`}},
	{"own formats hold for strings only", `{"format":"date-time"}`, []string{`5`, `null`, `["x"]`, `{"a":"x"}`}, nil},
	{"an unknown format asserts nothing", `{"type":"string","format":"int32"}`, []string{`"x"`}, []string{`1`}},
	{"items is one schema", `{"items":{"type":"integer"}}`, []string{`[]`, `[1,2]`}, []string{`[1,"a"]`}},
	{"items is a tuple", `{"items":[{"type":"integer"},true],"additionalItems":{"type":"null"}}`, []string{`[1]`, `[1,"a",null]`}, []string{`["a"]`, `[1,"a",2]`}},
	{"additionalItems closes a tuple", `{"items":[true],"additionalItems":false}`, []string{`[1]`}, []string{`[1,2]`}},
	{"array lengths", `{"minItems":1,"maxItems":2}`, []string{`[1]`, `[1,2]`, `{}`}, []string{`[]`, `[1,2,3]`}},
	{"uniqueItems compares values", `{"uniqueItems":true}`, []string{`[1,2,[1]]`}, []string{`[1,1.0]`, `[{"a":1,"b":2},{"b":2,"a":1}]`}},
	{"contains needs one", `{"contains":{"const":1}}`, []string{`[2,1]`}, []string{`[]`, `[2]`}},
	{"required", `{"required":["a"]}`, []string{`{"a":null}`, `1`}, []string{`{}`}},
	{"object sizes", `{"minProperties":1,"maxProperties":2}`, []string{`{"a":1}`}, []string{`{}`, `{"a":1,"b":2,"c":3}`}},
	{"properties named like keywords", `{"properties":{"$ref":{"type":"integer"},"$id":{"type":"integer"},"id":{"type":"integer"},"const":{"type":"integer"},"definitions":{"type":"integer"}}}`,
		[]string{`{"$ref":1,"id":2}`}, []string{`{"$ref":"a"}`, `{"$id":"a"}`, `{"id":"a"}`, `{"const":"a"}`, `{"definitions":"a"}`}},
	{"patternProperties and additionalProperties", `{"properties":{"a":true},"patternProperties":{"^s_":{"type":"string"}},"additionalProperties":false}`,
		[]string{`{"a":1,"s_x":"y"}`}, []string{`{"s_x":1}`, `{"b":1}`}},
	{"additionalProperties as a schema", `{"properties":{"a":true},"additionalProperties":{"type":"integer"}}`, []string{`{"a":"x","b":1}`}, []string{`{"b":"x"}`}},
	{"propertyNames", `{"propertyNames":{"maxLength":1}}`, []string{`{"a":1}`}, []string{`{"ab":1}`}},
	{"dependencies on names", `{"dependencies":{"a":["b","c"]}}`, []string{`{"a":1,"b":1,"c":1}`, `{"b":1}`}, []string{`{"a":1,"b":1}`}},
	{"dependencies on schemas", `{"dependencies":{"a":{"required":["b"]},"x":false}}`, []string{`{"a":1,"b":1}`}, []string{`{"a":1}`, `{"x":1}`}},
	{"allOf", `{"allOf":[{"minimum":1},{"maximum":2}]}`, []string{`1`}, []string{`0`, `3`}},
	{"anyOf", `{"anyOf":[{"maximum":1},{"minimum":3}]}`, []string{`1`, `3`}, []string{`2`}},
	{"oneOf", `{"oneOf":[{"maximum":2},{"minimum":2}]}`, []string{`1`, `3`}, []string{`2`}},
	{"not", `{"not":{"type":"null"}}`, []string{`1`}, []string{`null`}},
	{"if, then and else", `{"if":{"minimum":0},"then":{"multipleOf":2},"else":{"multipleOf":3}}`, []string{`4`, `-3`}, []string{`3`, `-4`}},
	{"$ref to a definition", `{"properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"$ref beside other keywords hides them", `{"$ref":"#/definitions/n","type":"string","definitions":{"n":{"type":"integer"}}}`, []string{`1`}, []string{`"a"`}},
	{"$ref through a $ref", `{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"$ref":"#/definitions/n"},"n":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"$ref to a boolean", `{"properties":{"a":{"$ref":"#/definitions/no"}},"definitions":{"no":false}}`, []string{`{}`}, []string{`{"a":1}`}},
	{"$ref to a property", `{"properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`, []string{`{"b":1}`}, []string{`{"b":"x"}`, `{"a":"x"}`}},
	{"$ref into a list", `{"allOf":[{"properties":{"a":{"$ref":"#/allOf/1/properties/b"}}},{"properties":{"b":{"type":"null"}}}]}`, []string{`{"a":null}`}, []string{`{"a":1}`}},
	{"$ref to where no keyword leads", `{"properties":{"a":{"$ref":"#/x-mine/n"}},"x-mine":{"n":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"$ref with escapes", `{"properties":{"a":{"$ref":"#/definitions/%25a~1b~0c%20%C3%A9"}},"definitions":{"%a/b~c é":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"$ref to ~01 unescapes once", `{"properties":{"a":{"$ref":"#/definitions/~01"}},"definitions":{"~1":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"$defs is a place for definitions", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"definitions named like keywords", `{"properties":{"a":{"$ref":"#/definitions/enum"}},"definitions":{"enum":{"$ref":"#/definitions/properties"},"properties":{"type":"integer"}}}`, []string{`{"a":1}`}, []string{`{"a":"x"}`}},
	{"annotations assert nothing", `{"title":"t","default":{"$ref":"nope","$id":"x"},"examples":[{"id":"x"}],"x-unknown":{"id":"x","type":"integer"}}`, []string{`1`, `"a"`}, nil},
	{"data below an unknown keyword asserts nothing", `{"x-unknown":[{"default":{"$id":"x","$ref":"http://x/"},"enum":[{"$ref":"y"}]}]}`, []string{`1`}, nil},
	{"data beside a $ref asserts nothing", `{"$ref":"#/definitions/n","default":{"$id":"x"},"const":{"$ref":"y"},"definitions":{"n":{"type":"integer"}}}`, []string{`1`}, []string{`"x"`}},
	{"members meet their own names only", `{"properties":{"A":{"type":"integer"}}}`, []string{`{"a":"x"}`}, []string{`{"A":"x"}`}},
}

func TestVerdicts(t *testing.T) {
	for _, c := range verdicts {
		t.Run(c.name, func(t *testing.T) {
			for _, peer := range []bool{true, false} {
				s, err := Compile([]byte(c.schema), peer)
				require.NoError(t, err)
				for _, value := range c.accepts {
					assert.Empty(t, s.Validate([]byte(value)), value)
				}
				for _, value := range c.refuses {
					assert.NotEmpty(t, s.Validate([]byte(value)), value)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	cases := []struct {
		name   string
		schema string
		path   string
		reason string
	}{
		{"text that is no JSON", `{`, "", "JSON"},
		{"a duplicate name", `{"type":"string","type":"integer"}`, "", "duplicate"},
		{"a number that is no double", `{"maximum":1e400}`, "", "range"},
		{"a schema that is a number", `5`, "", "must be an object or a boolean"},
		{"a property that is null", `{"properties":{"a":null}}`, "/properties/a", "must be an object or a boolean, not null"},
		{"definitions that are a boolean", `{"definitions":true}`, "/definitions", "must be an object"},
		{"properties that are an array", `{"properties":[]}`, "/properties", "must be an object"},
		{"an empty allOf", `{"allOf":[]}`, "/allOf", "at least one"},
		{"an anyOf that is an object", `{"anyOf":{}}`, "/anyOf", "at least one"},
		{"an empty tuple", `{"items":[]}`, "/items", "at least one"},
		{"items that are a number", `{"items":1}`, "/items", "must be an object or a boolean"},
		{"an unknown type", `{"type":"any"}`, "/type", `"any" is not a type`},
		{"no type", `{"type":[]}`, "/type", "at least one"},
		{"a type twice", `{"type":["null","null"]}`, "/type/1", "twice"},
		{"an enum that is no array", `{"enum":{}}`, "/enum", "array"},
		{"an empty enum", `{"enum":[]}`, "/enum", "at least one"},
		{"multipleOf 0", `{"multipleOf":0}`, "/multipleOf", "above 0"},
		{"multipleOf a string", `{"multipleOf":"1"}`, "/multipleOf", "above 0"},
		{"a boolean exclusiveMinimum of draft-04", `{"minimum":1,"exclusiveMinimum":true}`, "/exclusiveMinimum", "must be a number"},
		{"a negative count", `{"minItems":-1}`, "/minItems", "non-negative"},
		{"a fractional count", `{"maxItems":1.5}`, "/maxItems", "non-negative"},
		{"a minimum length above the maximum", `{"minLength":2,"maxLength":1}`, "/minLength", "greater than maxLength"},
		{"more members at least than at most", `{"minProperties":2,"maxProperties":1}`, "/minProperties", "greater than maxProperties"},
		{"a pattern that is no string", `{"pattern":1}`, "/pattern", "must be a string"},
		{"a pattern with look-ahead", `{"properties":{"a":{"pattern":"(?=a)"}}}`, "/properties/a/pattern", "RE2"},
		{"a property pattern with a back-reference", `{"patternProperties":{"(a)\\1":{}}}`, `/patternProperties/(a)\1`, "RE2"},
		{"a pattern with a slash is escaped in the place", `{"patternProperties":{"a/(":{}}}`, `/patternProperties/a~1(`, "RE2"},
		{"a required that is a boolean", `{"required":true}`, "/required", "array of strings"},
		{"a required number", `{"required":["a",1]}`, "/required/1", "must be a string"},
		{"a name required twice", `{"required":["a","a"]}`, "/required/1", "twice"},
		{"a dependency that is a string", `{"dependencies":{"a":"b"}}`, "/dependencies/a", "must be an object or a boolean"},
		{"a title that is a number", `{"title":1}`, "/title", "must be a string"},
		{"a $schema that is a number", `{"$schema":1}`, "/$schema", "must be a string"},
		{"a uniqueItems that is a string", `{"uniqueItems":"yes"}`, "/uniqueItems", "must be a boolean"},
		{"a $ref that is a number", `{"properties":{"a":{"$ref":1}}}`, "/properties/a/$ref", "must be a string"},
		{"a $ref to nothing", `{"items":{"$ref":"#/definitions/x"}}`, "/items/$ref", "points to nothing"},
		{"a $ref past an array", `{"items":{"$ref":"#/allOf/01"},"allOf":[{},{}]}`, "/items/$ref", "points to nothing"},
		{"a $ref to a string", `{"items":{"$ref":"#/title"},"title":"x"}`, "/items/$ref", "no schema"},
		{"a $ref to a list", `{"items":{"$ref":"#/allOf"},"allOf":[{}]}`, "/items/$ref", "no schema"},
		{"a $ref to an anchor", `{"items":{"$ref":"#here"}}`, "/items/$ref", "not a JSON pointer"},
		{"a $ref with a bad escape", `{"items":{"$ref":"#/a~2"},"a~2":{}}`, "/items/$ref", "not a JSON pointer"},
		{"a $ref with a bad percent", `{"items":{"$ref":"#/%zz"}}`, "/items/$ref", "not a URI fragment"},
		{"an empty $ref", `{"items":{"$ref":""}}`, "/items/$ref", "same schema"},
		{"a $ref to a bad schema in data", `{"items":{"$ref":"#/default"},"default":{"type":5}}`, "/default/type", "array of strings"},
		{"a $ref to data with an $id", `{"items":{"$ref":"#/default"},"default":{"$id":"x"}}`, "/default/$id", "$id"},
		{"too many values in an enum", `{"enum":[` + numbers(maxEntries+1) + `]}`, "/enum", "more than 4096"},
		{"nesting of 257 in data", `{"default":` + strings.Repeat("[", 256) + strings.Repeat("]", 256) + `}`, "", "nesting"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, peer := range []bool{true, false} {
				_, err := Compile([]byte(c.schema), peer)
				assertRefused(t, err, c.path, c.reason)
				assert.Equal(t, err, Judge([]byte(c.schema), peer))
			}
		})
	}
}

func assertRefused(t *testing.T, err error, path, reason string) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, path, e.Path)
	assert.Contains(t, e.Reason, reason)
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestProblemsAreSortedAndPlaced(t *testing.T) {
	s, err := Compile([]byte(`{"properties":{"b/c":{"items":{"type":"integer"}},"a.d":{"type":"null"}},"required":["z"]}`), true)
	require.NoError(t, err)
	for range 20 { // map order must not show
		problems := s.Validate([]byte(`{"b/c":[1,"x",2,"y"],"a.d":1}`))
		require.Len(t, problems, 4)
		assert.Equal(t, []string{"", "/a.d", "/b~1c/1", "/b~1c/3"}, paths(problems))
		assert.Contains(t, problems[0].Message, "z is required")
	}
}

func TestProblemsNameTheFormatOfTheSchema(t *testing.T) {
	for _, name := range []string{"date", "date-time", "spoke-go/date-time"} {
		s, err := Compile([]byte(`{"type":"string","format":"`+name+`"}`), true)
		require.NoError(t, err)
		if problems := s.Validate([]byte(`"x"`)); name == "spoke-go/date-time" {
			assert.Empty(t, problems, "no name but that of the draft asserts anything")
		} else {
			assert.Equal(t, []Problem{{Message: "Does not match format '" + name + "'"}}, problems)
		}
	}
}

// Others in the process use gojsonschema's table of formats as well.
func TestFormatsOfOthersStayAsTheyAre(t *testing.T) {
	registerFormats()
	for name := range ownFormats {
		assert.False(t, gojsonschema.FormatCheckers.IsFormat(name, 5), name)
	}
	assert.True(t, gojsonschema.FormatCheckers.IsFormat("date-time", "12:00:00"))
}

func paths(problems []Problem) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Path)
	}
	return list
}

func TestReportsAreBounded(t *testing.T) {
	s, err := Compile([]byte(`{"items":{"enum":["`+strings.Repeat("x", 9000)+`"]}}`), true)
	require.NoError(t, err)
	problems := s.Validate([]byte("[" + numbers(500) + "]"))
	assert.Len(t, problems, MaxProblems)
	assert.Less(t, len(problems[0].Message), 300)
}

func TestValuesThatAreNotStrictJSONAreAProblem(t *testing.T) {
	s, err := Compile([]byte(`{"enum":[1]}`), true)
	require.NoError(t, err)
	for _, value := range []string{``, `{`, `1e400`, `1 2`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`} {
		assert.Len(t, s.Validate([]byte(value)), 1, value)
	}
}

// Cold message templates of gojsonschema are compiled under its own lock; the race
// detector watches this test.
func TestSchemasAreSafeForConcurrentUse(t *testing.T) {
	s, err := Compile([]byte(`{"properties":{"a":{"type":"integer","maximum":3},"b":{"format":"email"},"c":{"$ref":"#"}},"required":["a"]}`), false)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				assert.Empty(t, s.Validate([]byte(`{"a":1,"b":"x@example.org","c":{"a":2}}`)))
				assert.Len(t, s.Validate(fmt.Appendf(nil, `{"a":%d,"b":"x","c":{}}`, i+4)), 3)
			}
		})
	}
	wg.Wait()
}

func TestTextSizeIsTheLengthOfCanonicalText(t *testing.T) {
	for _, text := range []string{`null`, `true`, `-1.5`, `"a"`, `"\"\\\n\u0001é😀"`, `[]`, `[1,[],"a"]`, `{}`} {
		v, err := decode([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), textSize(v), text)
	}
	v, err := decode([]byte(`{"a":1,"b":{}}`))
	require.NoError(t, err)
	assert.Equal(t, len(`{"a":1,"b":{},}`), textSize(v), "one comma too many is known")
}

func TestEmittedDocumentsHoldNothingThatWasNotJudged(t *testing.T) {
	doc, err := decode([]byte(`{"$schema":"http://x/","title":"t","x":{"$ref":"#"},"default":{"$id":"y"},"format":"int32",
		"definitions":{"unused":{},"used":{"type":"null"}},"properties":{"a":{"$ref":"#/definitions/used"}}}`))
	require.NoError(t, err)
	root, _, err := parse(doc, true)
	require.NoError(t, err)
	text, err := json.Marshal(emit(root))
	require.NoError(t, err)
	assert.JSONEq(t, `{"properties":{"a":{"$ref":"#/definitions/0"}},"definitions":{"0":{"type":"null"}}}`, string(text))
}
