package draft7

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/xeipuuv/gojsonschema"
)

// Schema is a compiled schema. It does not change; share it freely.
type Schema struct {
	root   *node
	engine *gojsonschema.Schema // nil when every value is valid
}

// Compile reads, judges and compiles a schema. Peer holds it to the bounds of a
// hostile one. The error is an [*Error].
func Compile(text []byte, peer bool) (*Schema, error) {
	root, err := read(text, peer)
	if err != nil {
		return nil, err
	}
	if root.vacuous() {
		return &Schema{root: root}, nil
	}
	return compile(root)
}

// Judge is [Compile] without the work that only validating needs.
func Judge(text []byte, peer bool) error {
	_, err := read(text, peer)
	return err
}

// read parses the text and holds it to its bounds.
func read(text []byte, peer bool) (*node, error) {
	text, err := canonical(text)
	if err != nil {
		return nil, &Error{Reason: Clip(err.Error())}
	}
	if peer && len(text) > maxBytes {
		return nil, &Error{Reason: fmt.Sprintf("more than %d bytes", maxBytes)}
	}
	doc, err := decode(text)
	if err != nil {
		return nil, &Error{Reason: Clip(err.Error())}
	}
	root, nodes, err := parse(doc, peer)
	if err != nil {
		return nil, err
	}
	if peer {
		return root, checkPeer(root, nodes)
	}
	return root, checkOwn(nodes)
}

func canonical(text []byte) ([]byte, error) {
	if err := jcs.Check(text, maxNesting); err != nil {
		return nil, err
	}
	return jcs.Canonical(text)
}

func decode(text []byte) (any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&v)
	return v, err
}

// compile hands the schema to gojsonschema. What is read has been judged, so neither
// an error nor a panic is expected; both end here all the same, because the schema
// may be a peer's.
func compile(root *node) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, &Error{Reason: fmt.Sprint("gojsonschema: ", r)}
		}
	}()
	registerFormats()
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft = gojsonschema.Draft7
	loader.AutoDetect = false
	engine, err := loader.Compile(gojsonschema.NewRawLoader(emit(root)))
	if err != nil {
		return nil, &Error{Reason: Clip(err.Error())}
	}
	planAll(root)
	return &Schema{root: root, engine: engine}, nil
}

// vacuous reports whether every JSON value is valid, so that validating is free.
func (s *Schema) vacuous() bool { return s.engine == nil }

// Validate returns how the value differs from the schema, nil when it does not. The
// problems are sorted and at most [MaxProblems]. Value is any JSON text.
func (s *Schema) Validate(value []byte) []Problem {
	if s.vacuous() {
		return nil
	}
	v, err := readValue(value)
	if err != nil {
		return []Problem{{Message: Clip(err.Error())}}
	}
	if err := s.afford(v); err != nil {
		return []Problem{{Message: err.Error()}}
	}
	return s.run(v)
}

func readValue(value []byte) (any, error) {
	text, err := jcs.Canonical(value)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

func (s *Schema) run(v any) (problems []Problem) {
	defer func() {
		if r := recover(); r != nil {
			problems = []Problem{{Message: Clip(fmt.Sprint("gojsonschema: ", r))}}
		}
	}()
	result, err := s.engine.Validate(gojsonschema.NewRawLoader(v))
	if err != nil {
		return []Problem{{Message: Clip(err.Error())}}
	}
	return problemsOf(result.Errors())
}

// MaxProblems bounds the problems of one report.
const MaxProblems = 64

// problemsOf puts the errors into an order that does not depend on map iteration.
func problemsOf(errs []gojsonschema.ResultError) []Problem {
	var problems []Problem
	for _, e := range errs {
		if isSummary(e) && len(errs) > 1 {
			continue
		}
		problems = append(problems, Problem{Path: pathOf(e.Context()), Message: Clip(messageOf(e))})
	}
	slices.SortFunc(problems, compareProblems)
	problems = slices.Compact(problems)
	return problems[:min(len(problems), MaxProblems)]
}

func messageOf(e gojsonschema.ResultError) string {
	if _, ok := e.(*gojsonschema.DoesNotMatchFormatError); ok {
		return strings.Replace(e.Description(), ownFormat, "", 1)
	}
	return e.Description()
}

// isSummary reports whether e only says that a branch failed, which comes with errors
// of its own.
func isSummary(e gojsonschema.ResultError) bool {
	switch e.(type) {
	case *gojsonschema.NumberAllOfError, *gojsonschema.ConditionThenError, *gojsonschema.ConditionElseError:
		return true
	}
	return false
}

func compareProblems(a, b Problem) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return strings.Compare(a.Message, b.Message)
}

// noName cannot stand in a name, because names are valid UTF-8.
const noName = "\xff"

func pathOf(context *gojsonschema.JsonContext) string {
	tokens := strings.Split(context.String(noName), noName)
	return pointer(tokens[1:]...) // the first one is gojsonschema's name of the root
}

var errCostly = errors.New("the value is too large to be checked against this schema")
