package draft7

// plan is a node arranged for [gauge]: what gojsonschema does with a value of each
// kind, and how much it can complain.
type plan struct {
	kinds    kind
	rewrites int // how many of enum and const there are
	compared int // bytes of their values

	allOf, anyOf, oneOf []*node
	not                 *node
	condition           *node   // if
	branches            []*node // then and else

	length   bool // asserts minLength or maxLength
	pattern  int  // program size, 0 without
	format   string
	numbers  []bound
	arrays   int // assertions about an array's length and contents
	objects  int // assertions about an object's number of members
	unique   bool
	required []any

	tuple    []*node
	each     *node
	rest     *node
	contains *node

	properties map[string]*node
	patterns   []*node
	matching   int // program size of all patterns of patternProperties
	additional *node
	names      *node
	depend     map[string]sub
}

// planAll gives a plan to every node that validating can reach.
func planAll(n *node) {
	queue := []*node{n}
	for len(queue) > 0 {
		n := queue[len(queue)-1].resolved()
		queue = queue[:len(queue)-1]
		if n.plan != nil {
			continue
		}
		n.plan = newPlan(n)
		for _, s := range n.subs {
			if s.node != nil && s.form != inert {
				queue = append(queue, s.node)
			}
		}
	}
}

func newPlan(n *node) *plan {
	p := &plan{}
	for _, w := range n.words {
		p.word(w)
	}
	for _, s := range n.subs {
		p.sub(s)
	}
	return p
}

func (p *plan) word(w word) {
	switch w.name {
	case "type":
		p.kinds = kindsOf(w.value)
	case "enum", "const":
		p.rewrites++
		p.compared += comparedSize(w.value)
	case "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "multipleOf":
		p.numbers = append(p.numbers, newBound(w))
	case "minLength", "maxLength":
		p.length = true
	case "pattern":
		p.pattern, _ = patternSize(w.value.(string))
	case "format":
		p.format, _ = w.value.(string)
	case "minItems", "maxItems":
		p.arrays++
	case "uniqueItems":
		p.unique = w.value == true
	case "minProperties", "maxProperties":
		p.objects++
	case "required":
		p.required, _ = w.value.([]any)
	}
}

func (p *plan) sub(s sub) {
	switch s.keyword {
	case "properties":
		p.property(s)
	case "patternProperties":
		size, _ := patternSize(s.key)
		p.matching = saturate(p.matching + size)
		p.patterns = append(p.patterns, s.node)
	case "additionalProperties":
		p.additional = s.node
	case "propertyNames":
		p.names = s.node
	case "dependencies":
		p.dependency(s)
	case "items":
		p.items(s)
	case "additionalItems":
		p.rest = s.node
	case "contains":
		p.contains = s.node
	default:
		p.applicator(s)
	}
}

// applicator files a subschema that applies to the value itself.
func (p *plan) applicator(s sub) {
	switch s.keyword {
	case "allOf":
		p.allOf = append(p.allOf, s.node)
	case "anyOf":
		p.anyOf = append(p.anyOf, s.node)
	case "oneOf":
		p.oneOf = append(p.oneOf, s.node)
	case "not":
		p.not = s.node
	case "if":
		p.condition = s.node
	case "then", "else":
		p.branches = append(p.branches, s.node)
	}
}

func (p *plan) property(s sub) {
	if p.properties == nil {
		p.properties = make(map[string]*node)
	}
	p.properties[s.key] = s.node
}

func (p *plan) dependency(s sub) {
	if p.depend == nil {
		p.depend = make(map[string]sub)
	}
	p.depend[s.key] = s
}

func (p *plan) items(s sub) {
	if s.form == list {
		p.tuple = append(p.tuple, s.node)
		return
	}
	p.each = s.node
}

func kindsOf(types any) kind {
	if name, ok := types.(string); ok {
		return kindNamed(name)
	}
	var kinds kind
	for _, name := range types.([]any) {
		kinds |= kindNamed(name.(string))
	}
	return kinds
}

// comparedSize returns the bytes of an enum's or a const's values, at least 1.
func comparedSize(v any) int {
	if l, ok := v.(literal); ok {
		v = l.value
	}
	return textSize(v)
}
