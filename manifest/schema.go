package manifest

import (
	"encoding/json"
	"errors"

	"github.com/spoke-peer/spoke-go/manifest/internal/draft7"
)

// Trust says whose schema it is. The zero value trusts nobody.
type Trust int

const (
	// Peer is for schemas that came over the wire. With every $ref replaced by what it
	// points to, one must be finite and at most 5,000 subschemas, 64 KiB and 64 levels;
	// its patterns must be at most 1,024 bytes each and of bounded complexity.
	Peer Trust = iota
	// Own is for the application's schemas. They may recurse through keywords that
	// consume a level of the value, such as properties and items, but not through those
	// that do not, such as allOf; at most 5,000 subschemas may apply to one value.
	Own
)

// SchemaError says why a schema is not run. Path is a JSON pointer into the schema, ""
// for the schema itself.
type SchemaError struct {
	Path   string
	Reason string
}

// Error implements error: the path, if any, and the reason.
func (e *SchemaError) Error() string {
	return Problem{Path: e.Path, Message: e.Reason}.String()
}

// Schema is a compiled draft-07 schema. It does not change and is safe for concurrent
// use. Get one from [Compile].
type Schema struct {
	compiled *draft7.Schema
}

// Compile compiles the text of a draft-07 schema. The error is a [*SchemaError].
//
// Whatever the trust: $ref points into the same schema (#...), nowhere is there an $id
// or a draft-04 id, at most 256 arrays and objects are open at once, an enum, required
// or dependency has at most 4,096 entries, and pattern is RE2. $schema is not followed,
// members beside $ref do not count, and unknown keywords and formats assert nothing.
//
// Source: wire spec, section 6.
func Compile(schema json.RawMessage, trust Trust) (*Schema, error) {
	return compileAt("", schema, trust)
}

// compileAt compiles a schema that stands at a path of something larger.
func compileAt(path string, schema json.RawMessage, trust Trust) (*Schema, error) {
	compiled, err := draft7.Compile(schema, trust != Own)
	if err != nil {
		return nil, schemaErrorAt(path, err)
	}
	return &Schema{compiled}, nil
}

func schemaErrorAt(path string, err error) *SchemaError {
	if e, ok := errors.AsType[*draft7.Error](err); ok {
		return &SchemaError{Path: path + e.Path, Reason: e.Reason}
	}
	return &SchemaError{Path: path, Reason: err.Error()}
}

// Validate returns how the value differs from the schema, sorted by path and at most
// 64 problems; nil when it does not differ. Value is any JSON text; text that is not
// strict JSON is a problem. So is a value that would cost too much to check, which only
// one of hundreds of thousands of members can. A schema that accepts everything costs
// nothing and does not look at the value.
func (s *Schema) Validate(value json.RawMessage) []Problem {
	return reported(s.compiled.Validate(value))
}
