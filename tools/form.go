package tools

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// Methods by which a type writes and reads its JSON itself, those that are preferred
// first.
var (
	jsonWriters = []reflect.Type{reflect.TypeFor[jsonv2.MarshalerTo](), reflect.TypeFor[json.Marshaler]()}
	textWriters = []reflect.Type{reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextMarshaler]()}
	jsonReaders = []reflect.Type{reflect.TypeFor[jsonv2.UnmarshalerFrom](), reflect.TypeFor[json.Unmarshaler]()}
	textReaders = []reflect.Type{reflect.TypeFor[encoding.TextUnmarshaler]()}

	writers = slices.Concat(jsonWriters, textWriters)
	readers = slices.Concat(jsonReaders, textReaders)
)

// hasAny reports whether t or its pointer has one of the methods.
func hasAny(t reflect.Type, methods []reflect.Type) bool {
	return t.Kind() != reflect.Interface && slices.ContainsFunc(methods, reflect.PointerTo(t).Implements)
}

// formed reports whether t has a JSON or text form of its own, in one direction at
// least.
func formed(t reflect.Type) bool { return hasAny(t, writers) || hasAny(t, readers) }

// ownForm returns the schema of a type that does not go by its kind, nil when t does. A
// type with a text form is a string.
func (x *inference) ownForm(t reflect.Type, at place) (*jsonschema.Schema, error) {
	if !x.decodes && !at.addressable && pointerWrites(t) {
		return nil, failAt(at.path, "%v encodes itself only behind a pointer; use *%v", t, t)
	}
	if s := knownSchema(t); s != nil {
		return s, nil
	}
	if p, ok := reflect.New(t).Interface().(SchemaProvider); ok {
		s, err := provided(p)
		if err != nil {
			return nil, failAt(at.path, "JSONSchema of %v: %v", t, err)
		}
		return s, nil
	}
	switch reads, writes := hasAny(t, textReaders), hasAny(t, textWriters); {
	case hasAny(t, jsonWriters) || hasAny(t, jsonReaders):
		return nil, failAt(at.path, "%v has a JSON form of its own; give it a JSONSchema method", t)
	case !reads && !writes:
		return nil, nil
	case t.Kind() == reflect.String: // text by its kind where it lacks the method
	case x.decodes && !reads:
		return nil, failAt(at.path, "%v has a text form that cannot be read; give it an UnmarshalText method", t)
	case !x.decodes && !writes:
		return nil, failAt(at.path, "%v has a text form that cannot be written; give it a MarshalText method", t)
	}
	return &jsonschema.Schema{Type: "string"}, nil
}

// provided asks a zero value for its schema. One that embeds the method by a nil pointer
// or interface panics.
func provided(p SchemaProvider) (s *jsonschema.Schema, err error) {
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	s = new(jsonschema.Schema)
	return s, json.Unmarshal(p.JSONSchema(), s)
}

// pointerWrites reports whether it is a method of t's pointer that writes t.
func pointerWrites(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	i := slices.IndexFunc(writers, reflect.PointerTo(t).Implements)
	return i >= 0 && !t.Implements(writers[i])
}

// knownSchema returns the schema of a standard type that has a JSON form of its own,
// nil for any other type.
func knownSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	}
	return nil
}
