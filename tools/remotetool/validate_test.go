package remotetool

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
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
