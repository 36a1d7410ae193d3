package draft7

import "strconv"

// emitter writes the document that gojsonschema compiles.
type emitter struct {
	names map[*node]string // of definitions
	queue []*node          // definitions not yet written
}

// emit returns the document of the schema: plain keywords, and each subschema that a
// $ref points to as a definition.
func emit(root *node) any {
	e := &emitter{names: make(map[*node]string)}
	schema := e.schema(root)
	doc, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	definitions := make(map[string]any)
	for len(e.queue) > 0 {
		n := e.queue[0]
		e.queue = e.queue[1:]
		definitions[e.names[n]] = e.object(n)
	}
	if len(definitions) > 0 {
		doc["definitions"] = definitions
	}
	return doc
}

func (e *emitter) schema(n *node) any {
	n = n.resolved()
	switch {
	case n.always != nil:
		return *n.always
	case n.target:
		return map[string]any{"$ref": "#/definitions/" + e.name(n)}
	}
	return e.object(n)
}

// name returns the definition of n, queueing it at the first mention.
func (e *emitter) name(n *node) string {
	name, ok := e.names[n]
	if !ok {
		name = strconv.Itoa(len(e.names))
		e.names[n] = name
		e.queue = append(e.queue, n)
	}
	return name
}

func (e *emitter) object(n *node) map[string]any {
	m := make(map[string]any, len(n.words)+len(n.subs))
	for _, w := range n.words {
		m[w.name] = w.value
		if l, ok := w.value.(literal); ok {
			m[w.name] = l.value
		}
	}
	for _, s := range n.subs {
		e.sub(m, s)
	}
	formatOfStrings(m)
	return m
}

func (e *emitter) sub(m map[string]any, s sub) {
	switch s.form {
	case single:
		m[s.keyword] = e.schema(s.node)
	case list:
		items, _ := m[s.keyword].([]any)
		m[s.keyword] = append(items, e.schema(s.node))
	case named:
		children, ok := m[s.keyword].(map[string]any)
		if !ok {
			children = make(map[string]any)
			m[s.keyword] = children
		}
		children[s.key] = e.dependency(s)
	}
}

func (e *emitter) dependency(s sub) any {
	if s.node == nil {
		return s.names
	}
	return e.schema(s.node)
}

// formatOfStrings moves format behind a test for strings: gojsonschema would apply it
// to numbers as well, and fail them.
func formatOfStrings(m map[string]any) {
	name, ok := m["format"]
	if !ok || m["type"] == "string" {
		return
	}
	delete(m, "format")
	all, _ := m["allOf"].([]any)
	m["allOf"] = append(all, map[string]any{
		"if":   map[string]any{"type": "string"},
		"then": map[string]any{"format": name},
	})
}
