package jcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the deepest nesting that any function here accepts.
const MaxDepth = 10000

// MaxSlowNumbers is how many numbers of a document may have more than 19 significant
// digits or be too small for a normal double. Reading one of them can take a thousand
// times as long as any other number, so a frame full of them would keep a reader busy
// for half a minute.
const MaxSlowNumbers = 1024

// Reasons for which text that is JSON is refused. Match them with errors.Is.
var (
	ErrDepth   = errors.New("nesting too deep")
	ErrRange   = errors.New("number outside the double range")
	ErrInexact = errors.New("number that a double cannot carry exactly")
	// ErrSlow is for a document with more than [MaxSlowNumbers] numbers that take
	// long to read.
	ErrSlow = errors.New("too many numbers that are slow to read")
	// ErrNotObject is returned by [Split] for a document that is not an object.
	ErrNotObject = errors.New("not a JSON object")
)

// Check reports the first reason to refuse b, nil if there is none. Depth is the
// number of arrays and objects that may be open at once; 0 means [MaxDepth].
func Check(b []byte, depth int) error {
	_, err := judge(b, depth)
	return err
}

// CheckExact is [Check], and refuses as well a number that a double cannot carry
// exactly as written. The error names the number's JSON pointer.
func CheckExact(b []byte, depth int) error {
	s, err := judge(b, depth)
	if err != nil || s.exact {
		return err
	}
	return fmt.Errorf("%w at %s", ErrInexact, locateInexact(b))
}

// Canonical returns the canonical form of b, which may be b itself.
func Canonical(b []byte) ([]byte, error) {
	s, err := judge(b, 0)
	if err != nil {
		return nil, err
	}
	if s.canonical {
		return b, nil
	}
	return canonicalize(b)
}

// CanonicalExact is [Canonical] with the refusals of [CheckExact].
func CanonicalExact(b []byte, depth int) ([]byte, error) {
	s, err := judge(b, depth)
	if err != nil {
		return nil, err
	}
	if !s.exact {
		return nil, fmt.Errorf("%w at %s", ErrInexact, locateInexact(b))
	}
	if s.canonical {
		return b, nil
	}
	return canonicalize(b)
}

// judge validates b and scans it.
func judge(b []byte, depth int) (verdict, error) {
	if err := valid(b); err != nil {
		return verdict{}, err
	}
	s := scannerOf(b, depth)
	s.value(0)
	s.space()
	return s.verdict, s.err
}

// valid checks the grammar, the encoding and the uniqueness of names.
func valid(b []byte) error {
	if jsontext.Value(b).IsValid() {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	if _, err := dec.ReadValue(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("not JSON: text after the value at byte %d", dec.InputOffset())
	}
	return errors.New("not JSON")
}

// canonicalize returns the canonical form of b, which was judged, in fresh memory.
func canonicalize(b []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(b))
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	return v, nil
}

// locateInexact returns the JSON pointer of the first inexact number, "the top
// level" for the document itself.
func locateInexact(b []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return "an unknown place"
		}
		if token.Kind() == '0' && !exactNumber([]byte(token.String())) {
			if p := dec.StackPointer(); p != "" {
				return string(p)
			}
			return "the top level"
		}
	}
}
