package draft7

import (
	"encoding/json"
)

// What validating one value may cost at most. Values come from the peer even where
// the schema does not, and gojsonschema has no bound of its own: it keeps an error
// with its full text for every failing item of an array, and a schema that tries two
// recursive branches doubles its work with every level of the value.
const (
	maxWork   = 20_000_000 // steps of about 100 ns
	maxErrors = 32 << 20   // bytes
	maxFrames = 5000       // calls of gojsonschema's recursion
)

// Costs in steps, measured against gojsonschema.
const (
	visitWork  = 10
	errorWork  = 30
	formatWork = 5 // per byte
	errorBytes = 512
)

// regexBytes is what checking format regex can take per byte of the value: the
// value is compiled, and three bytes can name a class of hundreds of ranges.
const regexBytes = 2 << 10

// gauge adds up, from above, what gojsonschema would spend on a value. It stops as
// soon as a budget is spent, so gauging is no dearer than the budget either.
type gauge struct {
	work   int
	errors int  // bytes of errors that are kept
	broke  bool // a budget was exceeded; stays so
}

// afford returns an error when validating v could cost more than the budget.
func (s *Schema) afford(v any) error {
	g := &gauge{}
	g.visit(s.root, v, spot{})
	if g.broke {
		return errCostly
	}
	return nil
}

// spot is where the walk is.
type spot struct {
	frames int // calls of gojsonschema's recursion so far
	path   int // bytes of the path into the value
}

func (s spot) below(name int) spot { return spot{s.frames, s.path + len("/") + name} }

// spend accounts for steps. Products of sizes are capped before they are added.
func (g *gauge) spend(work int) {
	g.work += work
	g.broke = g.broke || g.work > maxWork
}

// fail accounts for an error that may be reported: the path is kept thrice, the text
// twice.
func (g *gauge) fail(s spot, text int) {
	g.spend(errorWork)
	g.hold(errorBytes + 3*s.path + 2*text)
}

func (g *gauge) hold(bytes int) {
	g.errors += bytes
	g.broke = g.broke || g.errors > maxErrors
}

// visit accounts for one call of gojsonschema's recursion.
func (g *gauge) visit(n *node, v any, s spot) {
	g.spend(visitWork)
	s.frames++
	if s.frames > maxFrames {
		g.broke = true
	}
	n = n.resolved()
	switch {
	case g.broke:
	case n.always == nil:
		g.apply(n.plan, v, s)
	case !*n.always:
		g.fail(s, 0)
	}
}

func (g *gauge) apply(p *plan, v any, s spot) {
	if p.kinds != 0 && p.kinds&kindOf(v) == 0 {
		g.fail(s, 0)
		return
	}
	g.applicators(p, v, s)
	g.guard(p, v)
	g.compare(p, v, s)
	switch v := v.(type) {
	case json.Number:
		g.number(p, v, s)
	case string:
		g.text(p, v, s)
	case []any:
		g.array(p, v, s)
	case map[string]any:
		g.object(p, v, s)
	}
}

// attempt visits and returns the bytes of errors that came with it; without any, v is
// certain to be valid.
func (g *gauge) attempt(n *node, v any, s spot) int {
	before := g.errors
	g.visit(n, v, s)
	return g.errors - before
}

func (g *gauge) applicators(p *plan, v any, s spot) {
	for _, n := range append(p.allOf[:len(p.allOf):len(p.allOf)], p.branches...) {
		if g.attempt(n, v, s) > 0 {
			g.fail(s, 0)
		}
	}
	if g.choice(p.anyOf, v, s) {
		g.fail(s, 0)
	}
	if g.choice(p.oneOf, v, s); len(p.oneOf) > 0 {
		g.fail(s, 0) // two may be valid
	}
	g.tentative(p.condition, v, s)
	if g.tentative(p.not, v, s); p.not != nil {
		g.fail(s, 0)
	}
}

// choice visits the branches of an anyOf or oneOf and reports whether none is certain
// to be valid; with one that is, the errors of the others are not kept.
func (g *gauge) choice(branches []*node, v any, s spot) bool {
	before, certain := g.errors, false
	for _, n := range branches {
		if g.attempt(n, v, s) == 0 {
			certain = true
		}
	}
	if certain {
		g.errors = before
	}
	return len(branches) > 0 && !certain
}

// tentative visits a subschema whose errors are not kept.
func (g *gauge) tentative(n *node, v any, s spot) {
	if n == nil {
		return
	}
	before := g.errors
	g.visit(n, v, s)
	g.errors = before
}

// guard accounts for the test for strings that format stands behind: two more visits,
// and an error that is not kept.
func (g *gauge) guard(p *plan, v any) {
	if p.format == "" {
		return
	}
	g.spend(2*visitWork + errorWork)
	if n, ok := v.(json.Number); ok {
		g.spend(4 * fractionWork(magnitude(n)))
	}
}

// compare accounts for enum and const: the value is written and read anew, and the
// error quotes every allowed value.
func (g *gauge) compare(p *plan, v any, s spot) {
	if p.rewrites == 0 {
		return
	}
	g.spend(visitWork + p.rewrites*rewriteWork(v) + p.compared/16)
	g.fail(s, p.compared)
}

// number accounts for the bounds of a number. Even without one it is read as a fraction
// by each of the tests for an integer, for bounds and for dependencies.
func (g *gauge) number(p *plan, n json.Number, s spot) {
	size := magnitude(n)
	g.spend(3 * fractionWork(size))
	if len(p.numbers) == 0 {
		return
	}
	g.spend(doubleWork(n))
	x, _ := n.Float64()
	for _, b := range p.numbers {
		g.spend(b.work(size))
		if b.broken(x) {
			g.spend(b.text)
			g.fail(s, 0)
		}
	}
}

func (g *gauge) text(p *plan, v string, s spot) {
	if p.length {
		g.spend(len(v) / 64)
		g.fail(s, 0)
	}
	if p.pattern > 0 {
		g.match(v, p.pattern)
		g.fail(s, p.pattern)
	}
	if p.format != "" {
		g.spend(len(v) * formatWork)
		g.fail(s, 0)
	}
	if p.format == "regex" {
		g.hold(min(len(v), maxErrors/regexBytes+1) * regexBytes)
	}
}

// match accounts for matching text with a program of the given size.
func (g *gauge) match(text string, program int) {
	g.spend(min(maxWork, int(int64(len(text))*int64(program)/16)) + program/16)
}

func (g *gauge) array(p *plan, items []any, s spot) {
	for range p.arrays {
		g.fail(s, 0)
	}
	below := s.below(len("000000"))
	if p.unique {
		g.unique(items, s)
	}
	for i, item := range items {
		if n := p.item(i); n != nil && !g.broke {
			g.visit(n, item, below)
		}
	}
	if p.contains != nil {
		g.contains(p.contains, items, s)
	}
}

// unique accounts for uniqueItems, which writes and reads each item anew.
func (g *gauge) unique(items []any, s spot) {
	g.spend(rewriteWork(items))
	for range items {
		g.fail(s, 0)
	}
}

// contains accounts for trying each item until one is valid.
func (g *gauge) contains(n *node, items []any, s spot) {
	before, below := g.errors, s.below(len("000000"))
	for _, item := range items {
		if g.broke {
			return
		}
		if g.attempt(n, item, below) == 0 {
			g.errors = before
			return
		}
	}
	g.fail(s, 0)
}

// item returns the subschema of the i-th item, nil for none.
func (p *plan) item(i int) *node {
	switch {
	case p.each != nil:
		return p.each
	case i < len(p.tuple):
		return p.tuple[i]
	case len(p.tuple) > 0:
		return p.rest
	}
	return nil
}

func (g *gauge) object(p *plan, m map[string]any, s spot) {
	for range p.objects {
		g.fail(s, 0)
	}
	g.spend(len(p.properties) + len(p.required))
	for _, name := range p.required {
		if _, ok := m[name.(string)]; !ok {
			g.fail(s, len(name.(string)))
		}
	}
	for name, v := range m {
		if g.broke {
			return
		}
		g.member(p, name, v, s)
		if d, ok := p.depend[name]; ok {
			g.dependency(d, m, s)
		}
	}
}

// member accounts for one member of an object. Its name is compared with each
// property, and each pattern of patternProperties is compiled anew for it.
func (g *gauge) member(p *plan, name string, v any, s spot) {
	below := s.below(len(name))
	g.spend(len(p.properties)/8 + 2*p.matching)
	if p.matching > 0 {
		g.match(name, p.matching)
	}
	if n, ok := p.properties[name]; ok {
		g.visit(n, v, below)
	} else if p.additional != nil {
		g.visit(p.additional, v, below)
	}
	for _, n := range p.patterns {
		g.visit(n, v, below)
	}
	if p.names != nil && g.attempt(p.names, name, s) > 0 {
		g.fail(s, len(name))
	}
}

func (g *gauge) dependency(d sub, m map[string]any, s spot) {
	if d.node != nil {
		g.visit(d.node, m, s)
		return
	}
	for _, name := range d.names {
		g.fail(s, len(name.(string)))
	}
}
