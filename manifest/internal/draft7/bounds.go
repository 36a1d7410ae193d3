package draft7

// Bounds of a peer's schema, every $ref replaced by what it points to. Definitions
// count where they are used.
//
// Source: wire spec, section 6.
const (
	maxSubschemas = 5000
	maxBytes      = 64 << 10
	maxLevels     = 64
)

// maxNesting bounds the arrays and objects that are open at once in a schema's text,
// and with it every recursion over the text.
const maxNesting = 256

// extent is how large a subschema is with its $refs replaced. Sums saturate.
type extent struct{ schemas, bytes, levels int }

// measure computes extents along the edges that it follows. Each node is measured
// once, so that doubling costs nothing to count.
type measure struct {
	done   map[*node]extent
	open   map[*node]bool
	follow func(sub) bool
}

func newMeasure(follow func(sub) bool) *measure {
	return &measure{done: make(map[*node]extent), open: make(map[*node]bool), follow: follow}
}

// of returns n's extent, or an error when following the edges leads back to n.
func (m *measure) of(n *node) (extent, error) {
	if e, ok := m.done[n]; ok {
		return e, nil
	}
	m.open[n] = true
	e, err := m.sum(n)
	delete(m.open, n)
	m.done[n] = e
	return e, err
}

func (m *measure) sum(n *node) (extent, error) {
	if n.ref != nil {
		return m.step(n, n.ref)
	}
	e := extent{schemas: 1, bytes: n.bytes, levels: 1}
	for _, s := range n.subs {
		if s.node == nil || !m.follow(s) {
			continue
		}
		child, err := m.step(n, s.node)
		if err != nil {
			return e, err
		}
		if s.form != inert {
			e = e.with(child)
		}
	}
	return e, nil
}

// step measures the node at the end of one edge, unless the edge closes a cycle.
func (m *measure) step(from, to *node) (extent, error) {
	if !m.open[to] {
		return m.of(to)
	}
	if from.ref != nil {
		return extent{}, from.at.in("$ref").errorf("$ref cycle")
	}
	return extent{}, to.at.errorf("$ref cycle")
}

func (e extent) with(child extent) extent {
	return extent{
		schemas: saturate(e.schemas + child.schemas),
		bytes:   saturate(e.bytes + child.bytes),
		levels:  saturate(max(e.levels, 1+child.levels)),
	}
}

// checkPeer holds a peer's schema to the bounds: finite, and small when inlined.
func checkPeer(root *node, nodes []*node) error {
	m := newMeasure(func(sub) bool { return true })
	if err := m.all(nodes); err != nil {
		return err
	}
	switch e := m.done[root]; {
	case e.schemas > maxSubschemas:
		return root.at.errorf("more than %d subschemas with every $ref inlined", maxSubschemas)
	case e.bytes > maxBytes:
		return root.at.errorf("more than %d bytes with every $ref inlined", maxBytes)
	case e.levels > maxLevels:
		return m.tooDeep(root)
	}
	return nil
}

// checkOwn lets a schema recurse where that consumes a level of the value, and holds
// what applies to one and the same value to the bound on subschemas.
func checkOwn(nodes []*node) error {
	m := newMeasure(sub.inPlace)
	if err := m.all(nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if m.done[n].schemas > maxSubschemas {
			return n.at.errorf("more than %d subschemas apply to one value", maxSubschemas)
		}
	}
	return nil
}

func (m *measure) all(nodes []*node) error {
	for _, n := range nodes {
		if _, err := m.of(n); err != nil {
			return err
		}
	}
	return nil
}

// tooDeep names the first subschema below the last allowed level.
func (m *measure) tooDeep(n *node) error {
	for range maxLevels {
		n = m.deepest(n.resolved())
	}
	return n.at.errorf("deeper than %d levels with every $ref inlined", maxLevels)
}

func (m *measure) deepest(n *node) *node {
	var deepest *node
	for _, s := range n.subs {
		if s.node == nil || s.form == inert {
			continue
		}
		if deepest == nil || m.done[s.node].levels > m.done[deepest].levels {
			deepest = s.node
		}
	}
	return deepest
}
