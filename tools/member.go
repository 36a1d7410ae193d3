package tools

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// member is one member of a struct's JSON object.
type member struct {
	route
	name     string
	tagged   bool // the name is the tag's
	field    reflect.StructField
	optional bool
}

// route leads from a struct to a field of its own or of a struct that it embeds.
type route struct {
	index   []int
	pointer bool // through an embedded pointer, which may be nil
	locked  bool // by a field that is not exported and that decoding would have to set
}

// to is the route one field further.
func (r route) to(i int) route {
	r.index = append(slices.Clip(r.index), i)
	return r
}

// into is the route through an embedded field that it leads to.
func (r route) into(field reflect.StructField) route {
	if field.Type.Kind() == reflect.Pointer {
		r.pointer = true
		r.locked = r.locked || !field.IsExported()
	}
	return r
}

// membersOf lists the members of a struct in the order of its fields, those of
// embedded structs in the place of the embedded field. As in encoding/json, a field
// hides those of the same name that are embedded deeper, and at one depth a name by tag
// hides others. What is still ambiguous is an error.
func (x *inference) membersOf(t reflect.Type, path string) ([]member, error) {
	var found []member
	if err := x.collectMembers(t, path, route{}, &found); err != nil {
		return nil, err
	}
	var kept []member
	for _, m := range found {
		rivals := slices.DeleteFunc(slices.Clone(found), func(o member) bool {
			return o.name != m.name || m.hides(o)
		})
		switch {
		case slices.ContainsFunc(rivals, func(o member) bool { return o.hides(m) }):
		case len(rivals) > 1:
			return nil, failAt(path, "%v has two fields named %q", t, m.name)
		case x.decodes && m.locked:
			return nil, failAt(memberPath(path, m.name), "%v has an embedded field that is not exported and cannot be decoded", t)
		default:
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// hides reports whether m is preferred to another field of its name.
func (m member) hides(o member) bool {
	return cmp.Or(cmp.Compare(len(m.index), len(o.index)), cmp.Compare(m.rank(), o.rank())) < 0
}

// rank orders fields at one depth.
func (m member) rank() int {
	if m.tagged {
		return 0
	}
	return 1
}

func (x *inference) collectMembers(t reflect.Type, path string, from route, found *[]member) error {
	for i := range t.NumField() {
		field, way := t.Field(i), from.to(i)
		tag := field.Tag.Get("json")
		switch {
		case tag == "-":
		case field.Anonymous && structOf(field.Type) != nil && (tag == "" || tag[0] == ','):
			if err := x.collectEmbedded(structOf(field.Type), path, way.into(field), found); err != nil {
				return err
			}
		case field.IsExported() || field.Anonymous && structOf(field.Type) != nil && !formed(structOf(field.Type)):
			m, err := newMember(field, way, path)
			if err != nil {
				return err
			}
			*found = append(*found, m)
		}
	}
	return nil
}

func (x *inference) collectEmbedded(t reflect.Type, path string, from route, found *[]member) error {
	if x.open[t] {
		return failAt(path, "%v contains itself", t)
	}
	x.open[t] = true
	defer delete(x.open, t)
	return x.collectMembers(t, path, from, found)
}

// structOf returns t or what t points to when it is a struct, else nil.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// newMember reads the json tag of a field that way leads to.
func newMember(field reflect.StructField, way route, path string) (member, error) {
	name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
	m := member{route: way, name: name, tagged: name != "", field: field, optional: way.pointer}
	m.locked = m.locked || !field.IsExported()
	if m.name == "" {
		m.name = field.Name
	}
	if strings.ContainsAny(name, "'\"`\\") || !utf8.ValidString(name) {
		return m, failAt(memberPath(path, field.Name), "%q cannot be a name in a json tag", name)
	}
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			m.optional = true
		default:
			return m, failAt(memberPath(path, m.name), "the json option %q cannot be expressed", option)
		}
	}
	return m, nil
}
