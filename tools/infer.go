package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// SchemaProvider is implemented by types that encode themselves and so have to say
// what their JSON looks like. JSONSchema returns the text of a draft-07 schema, the
// same at each call on the zero value.
type SchemaProvider interface {
	JSONSchema() json.RawMessage
}

// shape is what is known about the JSON of a Go type.
type shape struct {
	schema   json.RawMessage
	defaults *wirejson.Defaults // nil when no member has a default
}

// inference infers the schema of one type, part by part; the bounds of numbers are
// jsonschema's.
type inference struct {
	decodes  bool                  // values are read, else written
	open     map[reflect.Type]bool // named types that are being walked
	defaults map[reflect.Type][]memberDefault
}

// place is where in a type another one stands.
type place struct {
	path        string // such as filters[].when, "" for the type itself
	addressable bool   // encoding/json calls the methods of pointers to it as well
}

// typeError says which part of a type cannot be expressed as a schema.
type typeError struct {
	path   string // of the place
	reason string
}

func (e *typeError) Error() string { return strings.TrimPrefix(e.path+": "+e.reason, ": ") }

func failAt(path, format string, args ...any) error {
	return &typeError{path, fmt.Sprintf(format, args...)}
}

func newInference(decodes bool) *inference {
	return &inference{
		decodes:  decodes,
		open:     make(map[reflect.Type]bool),
		defaults: make(map[reflect.Type][]memberDefault),
	}
}

// inferArguments returns the shape of a type that arguments are decoded into: a struct,
// a map, or what takes any object.
func inferArguments(t reflect.Type) (*shape, error) {
	x := newInference(true)
	if t.Kind() == reflect.Pointer {
		if _, err := x.infer(t, place{}); err != nil { // such as a pointer to itself
			return nil, err
		}
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	s, err := x.infer(t, place{})
	if err != nil {
		return nil, err
	}
	if s.Type == "" && s.Types == nil && isAny(t) {
		s.Type = "object"
	}
	if s.Type != "object" {
		return nil, failAt("", "%v is not a JSON object; use a struct or a map", t)
	}
	return x.shape(s)
}

// inferResult returns the shape of a type that results are encoded from.
func inferResult(t reflect.Type) (*shape, error) {
	x := newInference(false)
	s, err := x.infer(t, place{})
	if err != nil {
		return nil, err
	}
	return x.shape(s)
}

// isAny reports whether values of t can be any JSON.
func isAny(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]()
}

func (x *inference) shape(s *jsonschema.Schema) (*shape, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if string(text) == "true" { // what jsonschema writes for {}
		text = []byte("{}")
	}
	return &shape{schema: text, defaults: newDefaults(x.defaults)}, nil
}

// infer returns a schema of its own for t, which stands at a place.
func (x *inference) infer(t reflect.Type, at place) (*jsonschema.Schema, error) {
	if x.open[t] {
		return nil, failAt(at.path, "%v contains itself", t)
	}
	if t.Name() != "" { // without a name, no type contains itself
		x.open[t] = true
		defer delete(x.open, t)
	}
	if t.Kind() == reflect.Pointer {
		s, err := x.infer(t.Elem(), place{at.path, true})
		if err != nil {
			return nil, err
		}
		return orNull(s), nil
	}
	if s, err := x.ownForm(t, at); s != nil || err != nil {
		return s, err
	}
	return x.compose(t, at)
}

// compose infers what encoding/json makes of a type by its kind.
func (x *inference) compose(t reflect.Type, at place) (*jsonschema.Schema, error) {
	switch t.Kind() {
	case reflect.Struct:
		return x.structure(t, at)
	case reflect.Slice, reflect.Array:
		return x.list(t, at)
	case reflect.Map:
		return x.mapping(t, at)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil, failAt(at.path, "%v is an interface with methods and cannot be decoded", t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return nil, failAt(at.path, "%v cannot be expressed in JSON", t)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return nil, failAt(at.path, "%v cannot be expressed in JSON Schema", t)
	}
	return s, nil
}

// list infers a slice or an array. A nil slice encodes as []. Bytes are base64 unless
// each has a form of its own.
func (x *inference) list(t reflect.Type, at place) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !formed(t.Elem()) {
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}, nil
	}
	items, err := x.infer(t.Elem(), place{at.path + "[]", at.addressable || t.Kind() == reflect.Slice})
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{Type: "array", Items: items}
	if t.Kind() == reflect.Array {
		s.MinItems, s.MaxItems = new(t.Len()), new(t.Len())
	}
	return s, nil
}

func (x *inference) mapping(t reflect.Type, at place) (*jsonschema.Schema, error) {
	if t.Key().Kind() != reflect.String {
		return nil, failAt(at.path, "%v: only maps by string can be expressed", t)
	}
	values, err := x.infer(t.Elem(), place{at.path + "{}", false})
	if err != nil {
		return nil, err
	}
	return &jsonschema.Schema{Type: "object", AdditionalProperties: values}, nil
}

// orNull admits null beside what s admits, for a pointer.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	if judgesByMore(s) {
		either := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, s}, Default: s.Default}
		s.Default = nil
		return either
	}
	switch {
	case s.Type != "":
		s.Type, s.Types = "", []string{"null", s.Type}
	case len(s.Types) > 0 && !slices.Contains(s.Types, "null"):
		s.Types = append([]string{"null"}, s.Types...)
	}
	if s.Enum != nil && !slices.Contains(s.Enum, nil) {
		s.Enum = append(s.Enum, nil)
	}
	return s
}

// judgesByMore reports whether s has keywords beside type and enum that may refuse null.
func judgesByMore(s *jsonschema.Schema) bool {
	return s.Const != nil || s.Ref != "" || s.Not != nil || s.If != nil ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0
}
