package draft7

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// many returns an array of n times the item.
func many(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// members returns the inside of an object with n members of distinct names.
func members(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%06d":%s,`, i, value)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func deep(n int, open, closed string) string {
	return strings.Repeat(open, n) + "1" + strings.Repeat(closed, n)
}

// twoWays tries two recursive branches at each level of the value.
const twoWays = `{"anyOf":[
	{"properties":{"l":{"$ref":"#"}},"required":["a"]},
	{"properties":{"l":{"$ref":"#"}},"required":["b"]}]}`

func TestCostlyValuesAreRefusedUnseen(t *testing.T) {
	cases := []struct{ name, schema, value string }{
		{"a hundred thousand items that each make an error", `{"items":{"type":"integer"}}`, many(100_000, `"a"`)},
		{"errors that each quote a long enum", `{"items":{"enum":["` + strings.Repeat("x", 60_000) + `"]}}`, many(100_000, `1`)},
		{"errors below a long name", `{"additionalProperties":{"items":{"type":"null"}}}`, `{"` + strings.Repeat("x", 1<<20) + `":` + many(1000, `1`) + `}`},
		{"branches that double with each level", twoWays, deep(60, `{"l":`, `}`)},
		{"thousands of branches for each item", `{"items":{"allOf":` + many(4000, `{"minimum":0}`) + `}}`, many(10_000, `1`)},
		{"a large value compared with each constant", `{"allOf":` + many(1000, `{"const":1}`) + `}`, many(100_000, `1`)},
		{"a pattern compiled anew for each name", `{"patternProperties":{"^(a|b|ab){300}$":{}}}`, `{` + members(10_000, `1`) + `}`},
		{"a long text matched with a large program", `{"pattern":"(a|aa|aaa){1,200}b"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		{"a long text that is a pattern itself", `{"format":"regex"}`, `"` + strings.Repeat(`\\pL`, 100_000) + `"`},
		{"each name compared with each property", `{"properties":{` + members(3000, `true`) + `}}`, `{` + members(100_000, `1`) + `}`},
		{"a value as deep as JSON may be", `{"items":{"$ref":"#"}}`, deep(9000, `[`, `]`)},
		{"a false branch for each item", `{"items":{"contains":false,"propertyNames":false}}`, many(100_000, `{"a":1}`)},
		{"items that all repeat", `{"uniqueItems":true}`, many(100_000, `1`)},
		{"extreme multiples", `{"items":{"anyOf":[{"multipleOf":5e-324},{"multipleOf":1e-323},{"multipleOf":1.5e-323},true]}}`, many(20_000, `2.2250738585072014e-308`)},
		{"an extreme minimum", `{"items":{"not":{"minimum":2e-308}}}`, many(20_000, `-1`)},
		{"an extreme exclusiveMinimum", `{"items":{"not":{"exclusiveMinimum":2e-308}}}`, many(20_000, `0`)},
		{"an extreme maximum", `{"items":{"not":{"maximum":2e-308}}}`, many(20_000, `1`)},
		{"an extreme exclusiveMaximum", `{"items":{"not":{"exclusiveMaximum":2e-308}}}`, many(20_000, `1`)},
		{"extreme numbers read again and again", `{"items":{"allOf":` + many(100, `{}`) + `}}`, many(15_000, `1e-300`)},
		{"a format for extreme numbers", `{"items":{"allOf":` + many(100, `{"format":"date"}`) + `}}`, many(15_000, `1e-300`)},
		{"tiny numbers compared with each constant", `{"allOf":` + many(1000, `{"const":1}`) + `}`, many(1000, `5e-324`)},
		{"tiny numbers compared with each other", `{"allOf":` + many(400, `{"not":{"uniqueItems":true}}`) + `}`, tiny(1000)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Compile([]byte(c.schema), false)
			require.NoError(t, err)
			assert.Equal(t, []Problem{{Message: errCostly.Error()}}, s.Validate([]byte(c.value)))
		})
	}
}

func TestLargeHonestValuesAreChecked(t *testing.T) {
	cases := []struct{ name, schema, good, bad string }{
		{"numbers between bounds", `{"items":{"type":"number","minimum":0,"maximum":1}}`, many(40_000, `0.123456`), many(1000, `2`)},
		{"a megabyte of numbers between bounds", `{"items":{"minimum":0,"maximum":1}}`, many(150_000, `0.1234`), many(1000, `2`)},
		{"prices", `{"items":{"multipleOf":0.01}}`, many(10_000, `12.34`), many(1000, `12.345`)},
		{"texts or nulls", `{"items":{"anyOf":[{"type":"string"},{"type":"null"}]}}`, many(70_000, `null`), many(1000, `1`)},
		{"rows", `{"items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]}},"additionalProperties":false}}`,
			many(20_000, `{"a":"x","b":null}`), many(1000, `{"b":1}`)},
		{"one long text", `{"type":"string","minLength":1}`, `"` + strings.Repeat("x", 1<<20) + `"`, `""`},
		{"a list of a hundred levels", `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, deep(100, `{"v":1,"next":`, `}`), deep(100, `{"next":`, `}`)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Compile([]byte(c.schema), false)
			require.NoError(t, err)
			assert.Empty(t, s.Validate([]byte(c.good)))
			problems := s.Validate([]byte(c.bad))
			require.NotEmpty(t, problems)
			assert.NotEqual(t, errCostly.Error(), problems[0].Message)
		})
	}
}

// Gauging must be no dearer than what it guards.
func TestGaugingStopsAtTheBudget(t *testing.T) {
	s, err := Compile([]byte(twoWays), false)
	require.NoError(t, err)
	v, err := readValue([]byte(deep(60, `{"l":`, `}`)))
	require.NoError(t, err)
	g := &gauge{}
	g.visit(s.root, v, spot{})
	assert.True(t, g.broke)
	assert.Less(t, g.work, 2*maxWork)
}
