package draft7

import "encoding/json"

// node is one subschema, read and judged.
type node struct {
	at     *place
	always *bool // a boolean schema: everything else is unset

	refText string // the $ref as written; siblings of a $ref do not count
	ref     *node  // what it points to
	target  bool   // some $ref points here

	words []word // what it asserts about a value itself
	subs  []sub  // what it asserts through subschemas
	bytes int    // of its canonical text without subschemas

	plan *plan // how [gauge] walks it
}

// word is a keyword without subschemas and the value that gojsonschema gets for it.
type word struct {
	name  string
	value any
}

// form is how subschemas hang under their keyword.
type form int

const (
	single form = iota
	list
	named
	// inert subschemas assert nothing where they stand; a $ref may use them.
	inert
)

// sub is one subschema under a keyword.
type sub struct {
	keyword string
	form    form
	key     string // its name in a [named] form
	node    *node  // nil for a dependency on names
	names   []any  // what a dependency without node asks for
}

// inPlace reports whether s applies to the very value that its parent applies to.
func (s sub) inPlace() bool {
	switch s.keyword {
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies":
		return s.node != nil
	}
	return false
}

// count returns the value of a keyword that is a count, false without it.
func (n *node) count(keyword string) (int64, bool) {
	for _, w := range n.words {
		if w.name == keyword {
			count, err := w.value.(json.Number).Int64()
			return count, err == nil
		}
	}
	return 0, false
}

// resolved follows $ref to the subschema that asserts something.
func (n *node) resolved() *node {
	for n.ref != nil {
		n = n.ref
	}
	return n
}

// vacuous reports whether every value satisfies n.
func (n *node) vacuous() bool {
	n = n.resolved()
	if n.always != nil {
		return *n.always
	}
	for _, s := range n.subs {
		if s.form != inert {
			return false
		}
	}
	return len(n.words) == 0
}
