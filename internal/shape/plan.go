package shape

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// kind is what sort of value a plan accepts.
type kind int

const (
	anything kind = iota
	text
	integer
	number
	boolean
	scalar
	list
	bag    // an object with names of the sender's choice
	record // a struct
)

// plan is the shape of one Go type, or of one struct field. It is read-only once built.
type plan struct {
	kind     kind
	null     bool
	nonempty bool
	time     bool
	least    *int64
	elem     *plan // of a list or bag
	names    bool  // of a bag: names must be namespaces
	objects  bool  // anything, but it must be an object
	lists    bool  // with objects: a list will do too
	record   *recordPlan
}

// recordPlan is the shape of a struct.
type recordPlan struct {
	members  map[string]*memberPlan
	required []*memberPlan // in the order of the struct
	instead  string        // the member that replaces the required ones, or ""
}

type memberPlan struct {
	*plan
	name     string
	required int // place in recordPlan.required, -1 for an optional member
}

// plans holds what [planOf] built. A plan depends on the type alone.
var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(t, build(t))
	return p.(*plan)
}

var rawType = reflect.TypeFor[json.RawMessage]()

func build(t reflect.Type) *plan {
	switch {
	case t == rawType:
		return &plan{kind: anything}
	case t.Kind() == reflect.Pointer:
		return build(t.Elem())
	case t.Kind() == reflect.Struct:
		return &plan{kind: record, record: buildRecord(t)}
	case t.Kind() == reflect.Slice:
		return &plan{kind: list, elem: build(t.Elem())}
	case t.Kind() == reflect.Map:
		return &plan{kind: bag, elem: build(t.Elem())}
	}
	return &plan{kind: leafKind(t)}
}

func leafKind(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	case reflect.Float64:
		return number
	case reflect.Int, reflect.Int64:
		return integer
	}
	return anything
}

func buildRecord(t reflect.Type) *recordPlan {
	r := &recordPlan{members: map[string]*memberPlan{}}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" || strings.Contains(options, "embed") {
			continue
		}
		m := &memberPlan{plan: build(field.Type), name: name, required: -1}
		for word := range strings.SplitSeq(field.Tag.Get("wire"), ",") {
			r.apply(m, word)
		}
		r.members[name] = m
	}
	return r
}

// apply lets one word of a field's tag change the member's plan. A word that nobody
// knows makes the member refuse everything, so that a test of the type notices.
func (r *recordPlan) apply(m *memberPlan, word string) {
	switch word {
	case "":
	case "required":
		m.required = len(r.required)
		r.required = append(r.required, m)
	case "instead":
		r.instead = m.name
	case "null":
		m.null = true
	case "nonempty":
		m.nonempty = true
	case "time":
		m.time = true
	case "scalar":
		m.kind = scalar
	case "object":
		m.objects = true
	case "extensions", "modules":
		m.plan = &plan{kind: bag, names: true, elem: &plan{objects: true, lists: word == "modules"}}
	default:
		m.least = least(word)
	}
}

// least reads "min=N".
func least(word string) *int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(word, "min="), 10, 64)
	if err != nil {
		return new(int64(1<<63 - 1))
	}
	return &n
}

// want says what a value must be.
func (p *plan) want() string {
	switch p.kind {
	case text:
		return p.wantText()
	case integer:
		return p.wantInteger()
	case anything:
		if p.lists {
			return "an object or a list"
		}
		return "an object"
	}
	return [...]string{number: "a number", boolean: "true or false", scalar: "a string, a number, true or false",
		list: "a list", bag: "an object", record: "an object"}[p.kind]
}

func (p *plan) wantText() string {
	switch {
	case p.time:
		return "an RFC 3339 date and time"
	case p.nonempty:
		return "a string that is not empty"
	}
	return "a string"
}

func (p *plan) wantInteger() string {
	if p.least == nil {
		return "an integer"
	}
	return fmt.Sprintf("an integer of at least %d", *p.least)
}
