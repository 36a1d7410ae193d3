package jcs

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is the value of one member of a JSON object, as it stands in the text. The
// zero Member is an absent one.
type Member struct {
	// Value is the member's value; it aliases the text.
	Value []byte

	canonical bool
}

// Literal returns a member with a value that is canonical already.
func Literal(canonical []byte) Member { return Member{Value: canonical, canonical: true} }

// Split checks b as [Check] does and hands the members of its top-level object to
// visit, in the order of the text. Names are unique and have their escapes resolved;
// name aliases the text or a scratch copy and is valid during the call only.
func Split(b []byte, depth int, visit func(name []byte, m Member)) error {
	if err := valid(b); err != nil {
		return err
	}
	return split(b, depth, visit)
}

func split(b []byte, depth int, visit func(name []byte, m Member)) error {
	s := scannerOf(b, depth)
	s.visit = visit
	s.space()
	isObject := s.b[s.i] == '{'
	s.value(0)
	if s.err == nil && !isObject {
		return ErrNotObject
	}
	return s.err
}

// Get returns the member of b called name, false when b is not an object or has no such
// member. B came from [Canonical].
func Get(b []byte, name string) (Member, bool) {
	var found Member
	err := split(b, 0, func(n []byte, m Member) {
		if string(n) == name {
			found = m
		}
	})
	return found, err == nil && found.Value != nil
}

// Canonicalize turns the value into its canonical form.
func (m *Member) Canonicalize() error {
	if m.canonical {
		return nil
	}
	value, err := canonicalize(m.Value)
	if err != nil {
		return err
	}
	m.Value, m.canonical = value[:len(value):len(value)], true
	return nil
}

// Text returns the value as a string, false when it is not a JSON string.
func (m Member) Text() (string, bool) {
	text, ok := m.Bytes()
	return string(text), ok
}

// Bytes is [Member.Text] without a copy where the text has no escapes: the result may
// alias the document.
func (m Member) Bytes() ([]byte, bool) {
	if len(m.Value) < 2 || m.Value[0] != '"' {
		return nil, false
	}
	return unquote(m.Value[1 : len(m.Value)-1]), true
}

// unquote resolves the escapes of a valid string's inside.
func unquote(inside []byte) []byte {
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	quoted := append(append([]byte{'"'}, inside...), '"')
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil
	}
	return text
}

// AppendString appends text as a canonical JSON string. Invalid UTF-8 is an error.
func AppendString(dst []byte, text string) ([]byte, error) {
	return jsontext.AppendQuote(dst, text)
}
