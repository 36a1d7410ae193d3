package draft7

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// doubling returns a schema whose n-th definition is used 2^n times.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"allOf":[{"$ref":"#/definitions/d0"}],"definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"integer"}}}`, n)
	return b.String()
}

func nested(keyword string, levels int) string {
	return strings.Repeat(`{"`+keyword+`":`, levels-1) + `{"type":"null"}` + strings.Repeat(`}`, levels-1)
}

// copies returns a schema that uses one definition of about size bytes n times.
func copies(n, size int) string {
	ref := `{"$ref":"#/definitions/d"}`
	return `{"allOf":[` + strings.TrimSuffix(strings.Repeat(ref+",", n), ",") + `],"definitions":{"d":{"const":"` + strings.Repeat("x", size) + `"}}}`
}

func branches(n int) string {
	return `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"minimum":0},`, n), ",") + `]}`
}

func TestPeerBounds(t *testing.T) {
	cases := []struct {
		name         string
		schema       string
		path, reason string // no reason: it compiles
	}{
		{"a $ref to the root", `{"$ref":"#"}`, "/$ref", "cycle"},
		{"a $ref to itself by pointer", `{"definitions":{"a":{"$ref":"#/definitions/a"}}}`, "/definitions/a/$ref", "cycle"},
		{"a cycle of two", `{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`, "/definitions/b/$ref", "cycle"},
		{"a cycle through items", `{"items":{"$ref":"#"}}`, "/items/$ref", "cycle"},
		{"a cycle through a property", `{"properties":{"next":{"$ref":"#"}}}`, "/properties/next/$ref", "cycle"},
		{"a cycle through definitions that nothing uses", `{"definitions":{"a":{"items":{"$ref":"#"}}}}`, "/definitions/a/items/$ref", "cycle"},
		{"a cycle through a dependency", `{"dependencies":{"a":{"$ref":"#"}}}`, "/dependencies/a/$ref", "cycle"},
		{"a definition used twice is no cycle", `{"allOf":[{"$ref":"#/definitions/a"},{"$ref":"#/definitions/a"}],"definitions":{"a":{"type":"integer"}}}`, "", ""},
		{"doubling 10 times", doubling(10), "", ""},
		{"doubling 11 times", doubling(11), "", "65536 bytes"},
		{"doubling 12 times", doubling(12), "", "5000 subschemas"},
		{"doubling 500 times is counted at once", doubling(500), "", "5000 subschemas"},
		{"4,999 branches and the root", branches(maxSubschemas - 1), "", "65536 bytes"},
		{"4,000 branches", branches(4000), "", ""},
		{"5,000 subschemas", `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{},`, maxSubschemas-1), ",") + `]}`, "", ""},
		{"5,001 subschemas", `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{},`, maxSubschemas), ",") + `]}`, "", "5000 subschemas"},
		{"64 levels", nested("not", 64), "", ""},
		{"65 levels", nested("not", 65), strings.Repeat("/not", 64), "64 levels"},
		{"65 levels of items", nested("items", 65), strings.Repeat("/items", 64), "64 levels"},
		{"65 levels by way of a $ref", `{"not":{"$ref":"#/definitions/a"},"definitions":{"a":` + nested("not", 64) + `}}`, "/definitions/a" + strings.Repeat("/not", 63), "64 levels"},
		{"64 levels by way of a $ref", `{"not":{"$ref":"#/definitions/a"},"definitions":{"a":` + nested("not", 63) + `}}`, "", ""},
		{"a text over 64 KiB", `{"const":"` + strings.Repeat("x", maxBytes) + `"}`, "", "65536 bytes"},
		{"a text over 64 KiB of definitions that nothing uses", `{"definitions":{"a":{"const":"` + strings.Repeat("x", maxBytes) + `"}}}`, "", "65536 bytes"},
		{"white space does not count", `{"type":"null"` + strings.Repeat(" ", 2*maxBytes) + `}`, "", ""},
		{"64 KiB of copies", copies(63, 1000), "", ""},
		{"more than 64 KiB of copies", copies(66, 1000), "", "65536 bytes"},
		{"a long pattern", `{"items":{"pattern":"` + strings.Repeat("x", maxPatternBytes+1) + `"}}`, "/items/pattern", "longer than 1024"},
		{"a pattern that repeats", `{"items":{"pattern":"` + strings.Repeat("x{1000}", 12) + `"}}`, "/items/pattern", "too complex"},
		{"patterns that are complex together", `{"properties":{"a":{"pattern":"\\pL{5}"},"b":{"pattern":"\\pL{5}"},"c":{"pattern":"\\pL{5}"}}}`, "/properties/b/pattern", "too complex"},
		{"a property pattern that repeats", `{"patternProperties":{"((x{9}){9}){9}y{1000}y{1000}y{1000}y{1000}":{}}}`, "/patternProperties/((x{9}){9}){9}y{1000}y{1000}y{1000}y{1000}", "too complex"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Compile([]byte(c.schema), true)
			if c.reason == "" {
				require.NoError(t, err)
				s.Validate([]byte(`[]`)) // and it runs
				return
			}
			assertRefused(t, err, c.path, c.reason)
		})
	}
}

func TestOwnSchemasMayRecurseIntoTheValue(t *testing.T) {
	tree := `{"type":"object","required":["name"],"additionalProperties":false,
		"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`
	s, err := Compile([]byte(tree), false)
	require.NoError(t, err)
	assert.Empty(t, s.Validate([]byte(`{"name":"a","children":[{"name":"b"},{"name":"c","children":[{"name":"d"}]}]}`)))
	problems := s.Validate([]byte(`{"name":"a","children":[{"name":"b"},{"name":"c","children":[{"name":1}]}]}`))
	assert.Equal(t, []string{"/children/1/children/0/name"}, paths(problems))
}

func TestOwnSchemasMustConsumeALevel(t *testing.T) {
	through := func(keyword, value string) string {
		return `{"properties":{"a":{"` + keyword + `":` + value + `}}}`
	}
	again := `{"$ref":"#/properties/a"}`
	for _, c := range []struct{ keyword, value, path string }{
		{"$ref", `"#/properties/a"`, "/$ref"},
		{"not", again, "/not/$ref"},
		{"if", again, "/if/$ref"},
		{"then", again, "/then/$ref"},
		{"else", again, "/else/$ref"},
		{"allOf", "[" + again + "]", "/allOf/0/$ref"},
		{"anyOf", "[{}," + again + "]", "/anyOf/1/$ref"},
		{"oneOf", "[" + again + "]", "/oneOf/0/$ref"},
		{"dependencies", `{"x":` + again + `}`, "/dependencies/x/$ref"},
	} {
		t.Run("a cycle through "+c.keyword, func(t *testing.T) {
			_, err := Compile([]byte(through(c.keyword, c.value)), false)
			assertRefused(t, err, "/properties/a"+c.path, "cycle")
		})
	}
	for _, c := range []struct{ keyword, value string }{
		{"items", again},
		{"items", "[" + again + "]"},
		{"additionalItems", again},
		{"contains", again},
		{"properties", `{"x":` + again + `}`},
		{"patternProperties", `{"x":` + again + `}`},
		{"additionalProperties", again},
	} {
		t.Run("recursion through "+c.keyword, func(t *testing.T) {
			s, err := Compile([]byte(through(c.keyword, c.value)), false)
			require.NoError(t, err)
			s.Validate([]byte(`{"a":{"x":{"x":[[1]]}}}`))
		})
	}
}

func TestOwnSchemasAreBoundedInPlace(t *testing.T) {
	_, err := Compile([]byte(doubling(40)), false)
	assertRefused(t, err, "", "5000 subschemas")
	_, err = Compile([]byte(`{"const":"`+strings.Repeat("x", 2*maxBytes)+`"}`), false)
	assert.NoError(t, err)
	_, err = Compile([]byte(nested("items", 100)), false)
	assert.NoError(t, err)
}
