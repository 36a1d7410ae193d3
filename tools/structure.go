package tools

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// member is one member of a struct's JSON object.
type member struct {
	route
	name     string
	field    reflect.StructField
	optional bool
}

// route leads from a struct to a field of its own or of a struct that it embeds.
type route struct {
	index   []int
	pointer bool // through an embedded pointer
}

// to is the route one field further.
func (r route) to(i int) route {
	r.index = append(slices.Clip(r.index), i)
	return r
}

// into is the route through an embedded field that it leads to.
func (r route) into(field reflect.StructField) route {
	r.pointer = r.pointer || field.Type.Kind() == reflect.Pointer
	return r
}

// structure composes the schema of a struct: a closed object.
func (x *inference) structure(t reflect.Type, at place) (*jsonschema.Schema, error) {
	members, err := x.membersOf(t, at.path)
	if err != nil {
		return nil, err
	}
	object := &jsonschema.Schema{
		Type:                 "object",
		Properties:           make(map[string]*jsonschema.Schema, len(members)),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, // false
	}
	var defaults []memberDefault
	for _, m := range members {
		inside := place{memberPath(at.path, m.name), at.addressable || m.pointer}
		s, err := x.member(m, inside)
		if err != nil {
			return nil, err
		}
		if s.Default != nil {
			d, err := x.newMemberDefault(s, m, inside.path)
			if err != nil {
				return nil, err
			}
			defaults = append(defaults, d)
		}
		m.addTo(object, s)
	}
	if defaults != nil {
		x.defaults[t] = defaults
	}
	return object, nil
}

func memberPath(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// member infers the schema of one member, tags included.
func (x *inference) member(m member, at place) (*jsonschema.Schema, error) {
	s, err := x.infer(m.field.Type, at)
	if err != nil {
		return nil, err
	}
	return s, applyTags(s, m.field, at.path)
}

// addTo adds the member to the schema of its struct.
func (m member) addTo(object, s *jsonschema.Schema) {
	object.Properties[m.name] = s
	object.PropertyOrder = append(object.PropertyOrder, m.name)
	if !m.optional && s.Default == nil {
		object.Required = append(object.Required, m.name)
	}
}

// membersOf lists the members of a struct in the order of its fields, those of
// embedded structs in the place of the embedded field. A field hides one of the same
// name that is embedded deeper.
func (x *inference) membersOf(t reflect.Type, path string) ([]member, error) {
	var found []member
	if err := x.collectMembers(t, path, route{}, &found); err != nil {
		return nil, err
	}
	var kept []member
	for _, m := range found {
		rivals := slices.DeleteFunc(slices.Clone(found), func(o member) bool {
			return o.name != m.name || len(o.index) > len(m.index)
		})
		switch {
		case slices.ContainsFunc(rivals, func(o member) bool { return len(o.index) < len(m.index) }):
		case len(rivals) > 1:
			return nil, failAt(path, "%v has two fields named %q", t, m.name)
		default:
			kept = append(kept, m)
		}
	}
	return kept, nil
}

func (x *inference) collectMembers(t reflect.Type, path string, from route, found *[]member) error {
	for i := range t.NumField() {
		field, way := t.Field(i), from.to(i)
		m, err := newMember(field, way, path)
		switch {
		case err != nil:
			return err
		case m.name != "":
			*found = append(*found, m)
		case embeds(field):
			if err := x.collectEmbedded(structOf(field.Type), path, way.into(field), found); err != nil {
				return err
			}
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

// embeds reports whether the members of field's struct are members of the struct
// around it. It is asked for fields that are no member themselves.
func embeds(field reflect.StructField) bool {
	return field.Anonymous && field.Tag.Get("json") != "-" && structOf(field.Type) != nil &&
		(field.IsExported() || field.Type.Kind() == reflect.Struct)
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

// newMember reads the json tag of a field; a member without a name is none.
func newMember(field reflect.StructField, way route, path string) (member, error) {
	tag := field.Tag.Get("json")
	name, rest, _ := strings.Cut(tag, ",")
	m := member{route: way, name: name, field: field}
	if tag == "-" || !field.IsExported() || field.Anonymous && name == "" && structOf(field.Type) != nil {
		return member{}, nil
	}
	if m.name == "" {
		m.name = field.Name
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
