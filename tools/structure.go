package tools

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// member is one member of a struct's JSON object.
type member struct {
	name     string
	field    reflect.StructField
	index    []int // from the struct that the object stands for
	optional bool
}

// structure composes the schema of a struct: a closed object.
func (x *inference) structure(t reflect.Type, path string) error {
	if x.open[t] {
		return failAt(path, "%v contains itself", t)
	}
	x.open[t] = true
	defer delete(x.open, t)
	members, err := membersOf(t, path)
	if err != nil {
		return err
	}
	object := &jsonschema.Schema{
		Type:                 "object",
		Properties:           make(map[string]*jsonschema.Schema, len(members)),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, // false
	}
	for _, m := range members {
		if err := x.member(t, object, m, path); err != nil {
			return err
		}
	}
	x.known[t] = object
	return nil
}

// member adds one member to the schema of its struct.
func (x *inference) member(t reflect.Type, object *jsonschema.Schema, m member, path string) error {
	at := strings.TrimPrefix(path+"."+m.name, ".")
	s, err := x.infer(m.field.Type, at)
	if err != nil {
		return err
	}
	if err := applyTags(s, m.field, at); err != nil {
		return err
	}
	if s.Default != nil {
		d, err := newMemberDefault(s, m, at)
		if err != nil {
			return err
		}
		x.defaults[t] = append(x.defaults[t], d)
	}
	object.Properties[m.name] = s
	object.PropertyOrder = append(object.PropertyOrder, m.name)
	if !m.optional && s.Default == nil {
		object.Required = append(object.Required, m.name)
	}
	return nil
}

// membersOf lists the members of a struct in the order of its fields, those of
// embedded structs in the place of the embedded field. A field hides one of the same
// name that is embedded deeper.
func membersOf(t reflect.Type, path string) ([]member, error) {
	var found []member
	if err := collectMembers(t, path, nil, &found); err != nil {
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

func collectMembers(t reflect.Type, path string, index []int, found *[]member) error {
	if len(index) > maxEmbedding {
		return failAt(path, "%v embeds itself", t)
	}
	for i := range t.NumField() {
		field, at := t.Field(i), append(slices.Clip(index), i)
		m, err := newMember(field, at, path)
		switch {
		case err != nil:
			return err
		case m.name != "":
			*found = append(*found, m)
		case embeds(field):
			if err := collectMembers(structOf(field.Type), path, at, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxEmbedding bounds how deep structs embed each other.
const maxEmbedding = 32

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
func newMember(field reflect.StructField, index []int, path string) (member, error) {
	tag := field.Tag.Get("json")
	name, rest, _ := strings.Cut(tag, ",")
	m := member{name: name, field: field, index: index}
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
			return m, failAt(strings.TrimPrefix(path+"."+m.name, "."), "the json option %q cannot be expressed", option)
		}
	}
	return m, nil
}
