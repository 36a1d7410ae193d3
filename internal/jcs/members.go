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

// Visitor gets the members of an object in the order of the text. Names are unique and
// have their escapes resolved; a name is valid during the call only. Before is how many
// bytes of text stand before the member and its comma, if they are canonical as far as
// they go, else -1.
type Visitor interface {
	Visit(name []byte, m Member, before int)
}

// VisitFunc is a [Visitor] that does not care what stands before a member.
type VisitFunc func(name []byte, m Member)

// Visit implements [Visitor].
func (f VisitFunc) Visit(name []byte, m Member, _ int) { f(name, m) }

// Split checks b as [Check] does and hands the members of its top-level object to v.
func Split(b []byte, depth int, v Visitor) error {
	if err := valid(b); err != nil {
		return err
	}
	s := scannerOf(b, depth)
	s.visitor = v
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
	if b[0] != '{' || b[1] == '}' {
		return Member{}, false
	}
	s := scannerOf(b, 0)
	for s.i++; ; { // there is no white space
		found := string(unquote(s.text())) == name
		s.i++ // the colon
		start := s.i
		s.value(1)
		switch {
		case s.err != nil:
			return Member{}, false
		case found:
			return Literal(b[start:s.i:s.i]), true
		case !s.more():
			return Member{}, false
		}
	}
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
