package tools

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"

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

// inference infers the schema of one type. Structs are composed here; what remains,
// such as number bounds, lists and maps, is jsonschema's.
type inference struct {
	known    map[reflect.Type]*jsonschema.Schema
	open     map[reflect.Type]bool // structs that are being composed
	defaults map[reflect.Type][]memberDefault
}

// typeError says which part of a type cannot be expressed as a schema.
type typeError struct {
	path   string // of the member, such as filters[].when, "" for the type itself
	reason string
}

func (e *typeError) Error() string { return strings.TrimPrefix(e.path+": "+e.reason, ": ") }

func failAt(path, format string, args ...any) error {
	return &typeError{path, fmt.Sprintf(format, args...)}
}

func newInference() *inference {
	return &inference{
		known: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
			reflect.TypeFor[json.RawMessage](): {},
			reflect.TypeFor[json.Number]():     {Type: "number"},
			reflect.TypeFor[big.Int]():         {Type: "integer"},
		},
		open:     make(map[reflect.Type]bool),
		defaults: make(map[reflect.Type][]memberDefault),
	}
}

// inferArguments returns the shape of a type that arguments are decoded into: a struct,
// a map, or what takes any object.
func inferArguments(t reflect.Type) (*shape, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	x := newInference()
	s, err := x.infer(t, "")
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
	x := newInference()
	s, err := x.infer(t, "")
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

// infer returns a schema of its own for t, which stands at path.
func (x *inference) infer(t reflect.Type, path string) (*jsonschema.Schema, error) {
	if err := x.survey(t, path); err != nil {
		return nil, err
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: x.known})
	if err != nil {
		return nil, failAt(path, "%v cannot be expressed in JSON Schema", t)
	}
	x.mendNull(s, t)
	return s, nil
}

// mendNull corrects where jsonschema admits null: a nil slice encodes as [], so only a
// pointer to one may be null, and a type that may be anything may not only be null.
func (x *inference) mendNull(s *jsonschema.Schema, t reflect.Type) {
	pointer := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if x.known[t] != nil {
		if len(s.Types) == 1 {
			s.Types = nil
		}
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		if !pointer {
			s.Type, s.Types = "array", nil
		}
		x.mendNull(s.Items, t.Elem())
	case reflect.Array:
		x.mendNull(s.Items, t.Elem())
	case reflect.Map:
		x.mendNull(s.AdditionalProperties, t.Elem())
	}
}

// survey makes every named part of t known, or says which one cannot be expressed.
func (x *inference) survey(t reflect.Type, path string) error {
	if t.Kind() == reflect.Pointer {
		return x.survey(t.Elem(), path)
	}
	if x.known[t] != nil {
		return nil
	}
	if own, err := ownSchema(t, path); own != nil || err != nil {
		x.known[t] = own
		return err
	}
	switch t.Kind() {
	case reflect.Struct:
		return x.structure(t, path)
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			x.known[t] = &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
			return nil
		}
		return x.survey(t.Elem(), path+"[]")
	case reflect.Map:
		return x.mapping(t, path)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return failAt(path, "%v is an interface with methods and cannot be decoded", t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return failAt(path, "%v cannot be expressed in JSON", t)
	}
	return nil
}

func (x *inference) mapping(t reflect.Type, path string) error {
	if t.Key().Kind() != reflect.String {
		return failAt(path, "%v: only maps by string can be expressed", t)
	}
	return x.survey(t.Elem(), path+"{}")
}

// ownSchema returns the schema of a type that encodes itself, nil when t does not. A
// type with a text form is a string.
func ownSchema(t reflect.Type, path string) (*jsonschema.Schema, error) {
	switch p := reflect.New(t).Interface().(type) {
	case SchemaProvider:
		s := new(jsonschema.Schema)
		if err := json.Unmarshal(p.JSONSchema(), s); err != nil {
			return nil, failAt(path, "JSONSchema of %v: %v", t, err)
		}
		return s, nil
	case json.Marshaler, json.Unmarshaler:
		return nil, failAt(path, "%v has a JSON form of its own; give it a JSONSchema method", t)
	case encoding.TextMarshaler, encoding.TextUnmarshaler:
		return &jsonschema.Schema{Type: "string"}, nil
	}
	return nil, nil
}
