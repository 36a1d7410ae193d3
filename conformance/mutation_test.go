package conformance

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// schemas are JSON schemas by their $id.
type schemas map[string]map[string]any

// readSchemas reads every schema below a directory.
func readSchemas(t testing.TB, dir string) schemas {
	t.Helper()
	all := schemas{}
	files := os.DirFS(dir)
	require.NoError(t, fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		var schema map[string]any
		require.NoError(t, json.Unmarshal(text, &schema), path)
		all[schema["$id"].(string)] = schema
		all[path] = schema
		return nil
	}))
	require.NotEmpty(t, all)
	return all
}

// mutant is a document that breaks one rule of a schema.
type mutant struct {
	rule string
	doc  any
}

// mutator makes the mutants of one document.
type mutator struct {
	t       testing.TB
	schemas schemas
	mutants []mutant
}

// place is where a value stands in its document.
type place struct {
	path string
	base map[string]any      // the schema document, for references within it
	put  func(value any) any // the document with another value in this place
}

// mutantsOf returns one mutant for each rule of the schema that the document meets.
func mutantsOf(t testing.TB, all schemas, schema string, doc any) []mutant {
	t.Helper()
	m := &mutator{t: t, schemas: all}
	base := all[schema]
	require.NotNil(t, base, "no schema %s", schema)
	m.walk(base, doc, place{"", base, func(v any) any { return v }})
	return m.mutants
}

func (m *mutator) add(at place, rule string, value any) {
	m.mutants = append(m.mutants, mutant{at.path + " " + rule, at.put(value)})
}

func (m *mutator) walk(schema map[string]any, value any, at place) {
	if ref, ok := schema["$ref"].(string); ok {
		schema, at.base = m.resolve(ref, at.base)
		m.walk(schema, value, at)
		return
	}
	if branches, ok := schema["oneOf"].([]any); ok {
		for _, branch := range branches {
			if fits(branch.(map[string]any), value) {
				m.walk(branch.(map[string]any), value, at)
			}
		}
		return
	}
	m.scalars(schema, value, at)
	switch v := value.(type) {
	case map[string]any:
		m.object(schema, v, at)
	case []any:
		m.array(schema, v, at)
	}
}

func (m *mutator) resolve(ref string, base map[string]any) (map[string]any, map[string]any) {
	id, pointer, _ := strings.Cut(ref, "#")
	if id != "" {
		base = m.schemas[id]
		require.NotNil(m.t, base, "no schema %s", id)
	}
	schema := base
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name != "" {
			schema = schema[name].(map[string]any)
		}
	}
	return schema, base
}

// fits tells the branch of a oneOf by its required members.
func fits(schema map[string]any, value any) bool {
	doc, ok := value.(map[string]any)
	for _, name := range asList(schema["required"]) {
		if _, has := doc[name.(string)]; !has {
			return false
		}
	}
	return ok
}

func asList(v any) []any { list, _ := v.([]any); return list }

// scalars breaks the rules about a value by itself.
func (m *mutator) scalars(schema map[string]any, value any, at place) {
	if _, ok := schema["type"]; ok {
		var wrong any = map[string]any{}
		if _, isObject := value.(map[string]any); isObject {
			wrong = []any{}
		}
		m.add(at, "has another type", wrong)
	}
	if schema["enum"] != nil || schema["const"] != nil {
		m.add(at, "is not in the list", "not-in-the-list")
	}
	if n, ok := schema["minLength"].(float64); ok && n > 0 {
		m.add(at, "is too short", strings.Repeat("A", int(n)-1))
	}
	if n, ok := schema["maxLength"].(float64); ok {
		m.add(at, "is too long", strings.Repeat("A", int(n)+1))
	}
	if n, ok := schema["minimum"].(float64); ok {
		m.add(at, "is too small", n-1)
	}
	if n, ok := schema["maximum"].(float64); ok {
		m.add(at, "is too large", n+1)
	}
	if _, ok := schema["pattern"]; ok {
		m.add(at, "does not match", "!")
	}
}

// object breaks the rules about the members of an object.
func (m *mutator) object(schema map[string]any, doc map[string]any, at place) {
	for _, required := range asList(schema["required"]) {
		without := maps.Clone(doc)
		delete(without, required.(string))
		m.add(at, "lacks "+required.(string), without)
	}
	properties, _ := schema["properties"].(map[string]any)
	switch additional := schema["additionalProperties"].(type) {
	case bool:
		if !additional {
			m.add(at, "has an unknown member", with(doc, "unknown_member", 1))
		}
	case map[string]any:
		if additional["type"] != nil {
			m.add(at, "has a member of another type", with(doc, "mutant", 1))
		}
	}
	if _, ok := schema["propertyNames"]; ok {
		m.add(at, "has a member whose name does not match", with(doc, "!", map[string]any{}))
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if value, ok := doc[name]; ok {
			inner := place{at.path + "/" + name, at.base, func(v any) any { return at.put(with(doc, name, v)) }}
			m.walk(properties[name].(map[string]any), value, inner)
		}
	}
}

func with(doc map[string]any, name string, value any) map[string]any {
	changed := maps.Clone(doc)
	changed[name] = value
	return changed
}

// array breaks the rules about a list and its first item.
func (m *mutator) array(schema map[string]any, list []any, at place) {
	if n, ok := schema["minItems"].(float64); ok && n > 0 {
		m.add(at, "has too few items", list[:int(n)-1])
	}
	if len(list) == 0 {
		return
	}
	if schema["uniqueItems"] == true {
		m.add(at, "repeats an item", append(slices.Clone(list), list[0]))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		m.walk(items, list[0], place{at.path + "/0", at.base, func(v any) any {
			return at.put(append([]any{v}, list[1:]...))
		}})
	}
}
