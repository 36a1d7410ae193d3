package draft7

import (
	"encoding/json"
	"math"
	"strconv"
)

// check judges the value of a keyword and returns what gojsonschema gets for it, nil
// for nothing.
type check func(v any, at *place) (any, error)

// assertions are the keywords without subschemas that can refuse a value.
var assertions = map[string]check{
	"type":             types,
	"enum":             enum,
	"const":            constant,
	"multipleOf":       positive,
	"maximum":          number,
	"exclusiveMaximum": number,
	"minimum":          number,
	"exclusiveMinimum": number,
	"maxLength":        count,
	"minLength":        count,
	"pattern":          text,
	"format":           format,
	"maxItems":         count,
	"minItems":         count,
	"uniqueItems":      boolean,
	"maxProperties":    count,
	"minProperties":    count,
	"required":         uniqueStrings,
}

// annotations are the keywords that assert nothing but have a type.
var annotations = map[string]check{
	"$schema":          text,
	"$comment":         text,
	"title":            text,
	"description":      text,
	"default":          anything,
	"examples":         array,
	"readOnly":         boolean,
	"writeOnly":        boolean,
	"contentMediaType": text,
	"contentEncoding":  text,
}

// maxEntries bounds the entries of one enum, required or dependency: gojsonschema
// compares each with all others.
const maxEntries = 4096

func anything(v any, _ *place) (any, error) { return v, nil }

// constant keeps const: null apart from no const at all.
func constant(v any, _ *place) (any, error) { return literal{v}, nil }

// literal wraps a keyword's value that may be nil.
type literal struct{ value any }

func text(v any, at *place) (any, error) {
	if _, ok := v.(string); !ok {
		return nil, at.errorf("must be a string, not %s", kindName(v))
	}
	return v, nil
}

func boolean(v any, at *place) (any, error) {
	if _, ok := v.(bool); !ok {
		return nil, at.errorf("must be a boolean, not %s", kindName(v))
	}
	return v, nil
}

func array(v any, at *place) (any, error) {
	if _, ok := v.([]any); !ok {
		return nil, at.errorf("must be an array, not %s", kindName(v))
	}
	return v, nil
}

func number(v any, at *place) (any, error) {
	if _, ok := v.(json.Number); !ok {
		return nil, at.errorf("must be a number, not %s", kindName(v))
	}
	return v, nil
}

func positive(v any, at *place) (any, error) {
	n, ok := v.(json.Number)
	if f, err := n.Float64(); !ok || err != nil || f <= 0 {
		return nil, at.errorf("must be a number above 0")
	}
	return v, nil
}

// count accepts a non-negative integer. Counts that no value in memory can reach are
// lowered to one that an int always holds.
func count(v any, at *place) (any, error) {
	n, ok := v.(json.Number)
	f, err := n.Float64()
	if !ok || err != nil || f < 0 || f != math.Trunc(f) {
		return nil, at.errorf("must be a non-negative integer")
	}
	return json.Number(strconv.FormatInt(int64(min(f, math.MaxInt32)), 10)), nil
}

// types accepts one type name or an array of different ones.
func types(v any, at *place) (any, error) {
	if name, ok := v.(string); ok {
		return v, knownType(name, at)
	}
	if _, err := uniqueStrings(v, at); err != nil {
		return nil, err
	}
	names := v.([]any)
	if len(names) == 0 {
		return nil, at.errorf("must name at least one type")
	}
	for i, name := range names {
		if err := knownType(name.(string), at.in(strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func knownType(name string, at *place) error {
	if kindNamed(name) == 0 {
		return at.errorf("%q is not a type", Clip(name))
	}
	return nil
}

func enum(v any, at *place) (any, error) {
	entries, ok := v.([]any)
	if !ok || len(entries) == 0 {
		return nil, at.errorf("must be an array of at least one value")
	}
	if len(entries) > maxEntries {
		return nil, at.errorf("more than %d values", maxEntries)
	}
	return distinct(entries), nil
}

// distinct drops values that repeat, which gojsonschema would refuse. Values come
// from one canonical document, so equal values have equal text.
func distinct(values []any) []any {
	seen := make(map[string]bool, len(values))
	kept := make([]any, 0, len(values))
	for _, v := range values {
		key, _ := json.Marshal(v)
		if !seen[string(key)] {
			seen[string(key)] = true
			kept = append(kept, v)
		}
	}
	return kept
}

func uniqueStrings(v any, at *place) (any, error) {
	entries, ok := v.([]any)
	if !ok {
		return nil, at.errorf("must be an array of strings, not %s", kindName(v))
	}
	if len(entries) > maxEntries {
		return nil, at.errorf("more than %d entries", maxEntries)
	}
	seen := make(map[string]bool, len(entries))
	for i, entry := range entries {
		s, ok := entry.(string)
		if !ok {
			return nil, at.in(strconv.Itoa(i)).errorf("must be a string, not %s", kindName(entry))
		}
		if seen[s] {
			return nil, at.in(strconv.Itoa(i)).errorf("stands twice")
		}
		seen[s] = true
	}
	return entries, nil
}
