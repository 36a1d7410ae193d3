package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// tagRule lets a struct tag write one keyword of a member's schema.
type tagRule struct {
	tag   string
	types []string // JSON types that have the keyword, nil for all
	apply func(s *jsonschema.Schema, text string) error
}

// tagRules are the struct tags of this package. Those for strings and numbers describe
// the items where the member is a list of them.
var tagRules = []tagRule{
	{"jsonschema", nil, func(s *jsonschema.Schema, text string) error { s.Description = text; return nil }},
	{"enum", scalarTypes, setEnum},
	{"minimum", numberTypes, numberKeyword(func(s *jsonschema.Schema) **float64 { return &s.Minimum })},
	{"maximum", numberTypes, numberKeyword(func(s *jsonschema.Schema) **float64 { return &s.Maximum })},
	{"minLength", stringTypes, countKeyword(func(s *jsonschema.Schema) **int { return &s.MinLength })},
	{"maxLength", stringTypes, countKeyword(func(s *jsonschema.Schema) **int { return &s.MaxLength })},
	{"pattern", stringTypes, func(s *jsonschema.Schema, text string) error { s.Pattern = text; return nil }},
	{"format", stringTypes, func(s *jsonschema.Schema, text string) error { s.Format = text; return nil }},
	{"minItems", listTypes, countKeyword(func(s *jsonschema.Schema) **int { return &s.MinItems })},
	{"maxItems", listTypes, countKeyword(func(s *jsonschema.Schema) **int { return &s.MaxItems })},
	{"default", nil, setDefault},
}

var (
	stringTypes = []string{"string"}
	numberTypes = []string{"integer", "number"}
	scalarTypes = []string{"string", "integer", "number"}
	listTypes   = []string{"array"}
)

// applyTags writes what a field's tags say into its schema.
func applyTags(s *jsonschema.Schema, field reflect.StructField, path string) error {
	for _, rule := range tagRules {
		text, ok := field.Tag.Lookup(rule.tag)
		if !ok {
			continue
		}
		target := rule.target(s)
		if target == nil {
			return failAt(path, "the tag %s does not fit %v", rule.tag, field.Type)
		}
		if err := rule.apply(target, text); err != nil {
			return failAt(path, "the tag %s: %v", rule.tag, err)
		}
	}
	return nil
}

// target returns the schema that the rule writes to, nil when there is none.
func (r tagRule) target(s *jsonschema.Schema) *jsonschema.Schema {
	if r.types == nil || slices.Contains(r.types, typeOf(s)) {
		return s
	}
	if s.Items != nil && slices.Contains(r.types, typeOf(s.Items)) {
		return s.Items
	}
	return nil
}

// typeOf returns the one type beside null that the schema admits, "" for none or many.
func typeOf(s *jsonschema.Schema) string {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		return s.Types[1]
	}
	return s.Type
}

func numberKeyword(at func(*jsonschema.Schema) **float64) func(*jsonschema.Schema, string) error {
	return func(s *jsonschema.Schema, text string) error {
		var f float64
		err := json.Unmarshal([]byte(text), &f)
		*at(s) = &f
		return err
	}
}

func countKeyword(at func(*jsonschema.Schema) **int) func(*jsonschema.Schema, string) error {
	return func(s *jsonschema.Schema, text string) error {
		n, err := strconv.ParseUint(text, 10, 31)
		*at(s) = new(int(n))
		return err
	}
}

// setEnum takes values that commas separate: text for a string, JSON for a number.
func setEnum(s *jsonschema.Schema, text string) error {
	var values []any
	for part := range strings.SplitSeq(text, ",") {
		value, err := literalOf(s, strings.TrimSpace(part))
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	if len(s.Types) > 0 { // a pointer may be null
		values = append(values, nil)
	}
	s.Enum = values
	return nil
}

// setDefault takes text for a string and JSON for everything else.
func setDefault(s *jsonschema.Schema, text string) error {
	value, err := literalOf(s, text)
	s.Default = value
	return err
}

// literalOf reads a tag's text as a value of the schema's type.
func literalOf(s *jsonschema.Schema, text string) (json.RawMessage, error) {
	if typeOf(s) == "string" {
		return json.Marshal(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	return json.RawMessage(text), nil
}
