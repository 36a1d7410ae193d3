package tools

import (
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

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
