package remotetool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/tools"
)

// codesOf lists the codes of issues with their paths.
func codesOf(issues []issue) []string {
	list := []string{}
	for _, it := range issues {
		list = append(list, it.path+" "+it.code)
	}
	return list
}

func TestNullFitsWhereTheSchemaTakesIt(t *testing.T) {
	for _, c := range []struct {
		schema string
		want   []string // what is wrong with null
	}{
		{`{}`, []string{}},
		{`{"enum":["a",null]}`, []string{}},
		{`{"enum":[null]}`, []string{}},
		{`{"type":"null"}`, []string{}},
		{`{"type":"null","enum":["ab",null]}`, []string{}},
		{`{"type":["string","null"],"enum":["a",null]}`, []string{}},
		{`{"enum":["a"]}`, []string{"$ null_not_allowed"}},
		{`{"const":"a"}`, []string{"$ null_not_allowed"}},
		{`{"type":"string","enum":["a",null]}`, []string{"$ null_not_allowed"}},
		{`{"type":"null","enum":["ab"]}`, []string{"$ enum_value_invalid"}},
	} {
		assert.Equal(t, c.want, codesOf(schemaOf(json.RawMessage(c.schema)).check(raw("null"))), c.schema)
	}
	assert.Equal(t, []string{"$ enum_value_invalid"}, codesOf(schemaOf(raw(`{"enum":["a",null]}`)).check(raw("1"))))
}

func TestWhatAFormatCanCostIsBounded(t *testing.T) {
	listOf := func(format string, texts ...string) (schema, value string) {
		return `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","format":"` + format + `"}}}}`,
			`{"l":["` + strings.Join(texts, `","`) + `"]}`
	}
	date := strings.Split(strings.Repeat("2000-01-01 ", maxFormatted/len("2000-01-01")), " ")
	for name, c := range map[string]struct {
		format string
		texts  []string
		here   []string // what is found before the registry looks
	}{
		"a format":                         {"date", []string{"x"}, []string{"$.l[0] format_invalid"}},
		"a regex":                          {"regex", []string{"("}, []string{}},
		"a text that is too long":          {"date", []string{strings.Repeat("x", maxFormatBytes+1)}, []string{}},
		"a text beyond what is looked at":  {"date", append(date[:len(date)-1:len(date)-1], strings.Repeat("x", 20)), []string{}},
		"texts as long as what is allowed": {"date", append(date[:len(date)-2:len(date)-2], "x"), []string{fmt.Sprintf("$.l[%d] format_invalid", len(date)-2)}},
	} {
		t.Run(name, func(t *testing.T) {
			schema, value := listOf(c.format, c.texts...)
			assert.Equal(t, c.here, codesOf(schemaOf(json.RawMessage(schema)).check(json.RawMessage(value))))
			p := providerOf(t, tool("tools.t.a", schema, "", echoing, tools.Metadata{}))
			m := answerOf(t, p, TypeCall, TypeError, `{"toolId":"t.a","arguments":`+value+`}`)
			assert.Equal(t, string(CodeArgumentsSchemaInvalid), text(m, "code"))
			assert.Contains(t, string(m["details"]), issueFormat)
		})
	}
}
