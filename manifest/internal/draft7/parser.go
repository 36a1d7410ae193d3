package draft7

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// parser reads a decoded schema document into nodes. Each place of the document is
// read at most once, so the work is linear in its text however its $refs are knit.
type parser struct {
	doc      any
	peer     bool
	seen     map[uintptr]*node // by the identity of the object
	nodes    []*node           // every node, in the order of reading
	refs     []*node           // nodes whose $ref awaits its target
	patterns int               // size of all patterns so far
}

// parse returns the root of doc's tree and every node of it, with $refs resolved.
func parse(doc any, peer bool) (*node, []*node, error) {
	p := &parser{doc: doc, peer: peer, seen: make(map[uintptr]*node)}
	root, err := p.schema(doc, nil)
	if err != nil {
		return nil, nil, err
	}
	for len(p.refs) > 0 {
		n := p.refs[len(p.refs)-1]
		p.refs = p.refs[:len(p.refs)-1]
		if err := p.resolve(n); err != nil {
			return nil, nil, err
		}
	}
	return root, p.nodes, nil
}

// schema reads v, which stands where a subschema must stand.
func (p *parser) schema(v any, at *place) (*node, error) {
	n := &node{at: at}
	switch v := v.(type) {
	case bool:
		n.always, n.bytes = &v, textSize(v)
		p.nodes = append(p.nodes, n)
		return n, nil
	case map[string]any:
		return n, p.object(n, v)
	}
	return nil, at.errorf("a schema must be an object or a boolean, not %s", kindName(v))
}

func (p *parser) object(n *node, m map[string]any) error {
	p.seen[identity(m)] = n
	p.nodes = append(p.nodes, n)
	if err := refuseIDs(m, n.at); err != nil {
		return err
	}
	if ref, ok := m["$ref"]; ok {
		return p.reference(n, m, ref)
	}
	n.bytes = len("{}")
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n.bytes += memberSize(name)
		if err := p.keyword(n, name, m[name], n.at.in(name)); err != nil {
			return err
		}
	}
	return refuseCrossed(n)
}

// refuseCrossed refuses bounds that nothing fits between, which gojsonschema does not
// compile.
func refuseCrossed(n *node) error {
	for _, of := range []string{"Length", "Properties"} {
		least, ok := n.count("min" + of)
		most, bounded := n.count("max" + of)
		if ok && bounded && least > most {
			return n.at.in("min"+of).errorf("is greater than max%s", of)
		}
	}
	return nil
}

// refuseIDs refuses what would move the base of a $ref: $id, and id, which
// gojsonschema takes for it.
func refuseIDs(m map[string]any, at *place) error {
	if _, ok := m["$id"]; ok {
		return at.in("$id").errorf("$id is not supported")
	}
	if _, ok := m["id"].(string); ok {
		return at.in("id").errorf("id is not supported")
	}
	return nil
}

// keyword reads one member of a schema object. Keywords that draft-07 does not know
// assert nothing.
func (p *parser) keyword(n *node, name string, v any, at *place) error {
	switch name {
	case "allOf", "anyOf", "oneOf":
		return p.list(n, name, v, at)
	case "not", "if", "then", "else", "contains", "propertyNames", "additionalItems", "additionalProperties":
		return p.single(n, name, v, at)
	case "properties":
		return p.named(n, name, v, at, named)
	case "definitions", "$defs":
		return p.named(n, name, v, at, inert)
	case "patternProperties":
		return p.patternProperties(n, v, at)
	case "items":
		return p.items(n, v, at)
	case "dependencies":
		return p.dependencies(n, v, at)
	}
	n.bytes += textSize(v)
	if check, ok := assertions[name]; ok {
		return p.assertion(n, name, v, at, check)
	}
	if check, ok := annotations[name]; ok {
		_, err := check(v, at)
		return err
	}
	return scan(v, at)
}

func (p *parser) assertion(n *node, name string, v any, at *place, check check) error {
	value, err := check(v, at)
	if err != nil || value == nil {
		return err
	}
	if text, ok := value.(string); ok && name == "pattern" {
		if err := p.pattern(text, at); err != nil {
			return err
		}
	}
	n.words = append(n.words, word{name, value})
	return nil
}

// sub reads one subschema and hangs it under its keyword.
func (p *parser) sub(n *node, s sub, v any, at *place) error {
	child, err := p.schema(v, at)
	s.node = child
	n.subs = append(n.subs, s)
	return err
}

func (p *parser) single(n *node, name string, v any, at *place) error {
	return p.sub(n, sub{keyword: name, form: single}, v, at)
}

func (p *parser) list(n *node, name string, v any, at *place) error {
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return at.errorf("must be an array of at least one schema")
	}
	n.bytes += listSize(len(items))
	for i, item := range items {
		if err := p.sub(n, sub{keyword: name, form: list}, item, at.in(strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) items(n *node, v any, at *place) error {
	if _, ok := v.([]any); ok {
		return p.list(n, "items", v, at)
	}
	return p.single(n, "items", v, at)
}

func (p *parser) named(n *node, name string, v any, at *place, form form) error {
	m, ok := v.(map[string]any)
	if !ok {
		return at.errorf("must be an object of schemas, not %s", kindName(v))
	}
	n.bytes += len("{}")
	for _, key := range slices.Sorted(maps.Keys(m)) {
		n.bytes += memberSize(key)
		if err := p.sub(n, sub{keyword: name, form: form, key: key}, m[key], at.in(key)); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) patternProperties(n *node, v any, at *place) error {
	m, _ := v.(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(m)) {
		if err := p.pattern(pattern, at.in(pattern)); err != nil {
			return err
		}
	}
	return p.named(n, "patternProperties", v, at, named)
}

func (p *parser) dependencies(n *node, v any, at *place) error {
	m, ok := v.(map[string]any)
	if !ok {
		return at.errorf("must be an object, not %s", kindName(v))
	}
	n.bytes += len("{}")
	for _, key := range slices.Sorted(maps.Keys(m)) {
		n.bytes += memberSize(key)
		if err := p.dependency(n, key, m[key], at.in(key)); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) dependency(n *node, key string, v any, at *place) error {
	s := sub{keyword: "dependencies", form: named, key: key}
	if _, ok := v.([]any); !ok {
		return p.sub(n, s, v, at)
	}
	names, err := uniqueStrings(v, at)
	if err != nil {
		return err
	}
	n.bytes += textSize(v)
	s.names, _ = names.([]any)
	n.subs = append(n.subs, s)
	return nil
}

// reference reads an object with $ref. Draft-07 ignores its other members; they are
// still searched for what must not be anywhere.
func (p *parser) reference(n *node, m map[string]any, ref any) error {
	text, ok := ref.(string)
	if !ok {
		return n.at.in("$ref").errorf("must be a string, not %s", kindName(ref))
	}
	if err := refuseRemote(text, n.at.in("$ref")); err != nil {
		return err
	}
	n.refText = text
	p.refs = append(p.refs, n)
	return scan(m, n.at)
}

func refuseRemote(ref string, at *place) error {
	if !strings.HasPrefix(ref, "#") {
		return at.errorf("$ref must point into the same schema (#...), not to %q", Clip(ref))
	}
	return nil
}

// scan searches a value that asserts nothing for what must not be anywhere in a
// schema: an $id, or a $ref to another document. Data is exempt.
func scan(v any, at *place) error {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := scan(item, at.in(strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case map[string]any:
		return scanObject(v, at)
	}
	return nil
}

func scanObject(m map[string]any, at *place) error {
	if _, ok := m["$id"].(string); ok {
		return at.in("$id").errorf("$id is not supported")
	}
	if ref, ok := m["$ref"].(string); ok {
		if err := refuseRemote(ref, at.in("$ref")); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if isData(name) {
			continue
		}
		if err := scan(m[name], at.in(name)); err != nil {
			return err
		}
	}
	return nil
}

// isData reports whether the keyword's value is data, in which $ref and $id are names
// like any other.
func isData(keyword string) bool {
	switch keyword {
	case "enum", "const", "default", "examples":
		return true
	}
	return false
}

// identity tells objects of one decoded document apart.
func identity(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }
