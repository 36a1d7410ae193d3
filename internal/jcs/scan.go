package jcs

import (
	"bytes"
	"fmt"
)

// scanner walks text that [valid] accepted. It is not a parser: it relies on the
// grammar and only collects what jsontext does not tell.
type scanner struct {
	b     []byte
	i     int
	depth int
	slow  int // numbers that were slow to read
	err   error
	verdict

	visitor Visitor // of the top-level object, when wanted
}

// verdict is what a scan found out.
type verdict struct {
	canonical bool // nothing differs from the canonical form
	exact     bool // every number is carried exactly by a double
}

func scannerOf(b []byte, depth int) scanner {
	if depth <= 0 || depth > MaxDepth {
		depth = MaxDepth
	}
	return scanner{b: b, depth: depth, verdict: verdict{canonical: true, exact: true}}
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("%w at byte %d", err, s.i)
	}
}

// space skips white space, which canonical text does not have.
func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.canonical = false
			s.i++
		default:
			return
		}
	}
}

// value scans one value; open counts the arrays and objects around it.
func (s *scanner) value(open int) {
	s.space()
	switch c := s.b[s.i]; {
	case c == '{':
		s.object(open + 1)
	case c == '[':
		s.array(open + 1)
	case c == '"':
		s.text()
	case c == '-' || '0' <= c && c <= '9':
		s.number()
	default: // true, false, null
		for s.i < len(s.b) && 'a' <= s.b[s.i] && s.b[s.i] <= 'z' {
			s.i++
		}
	}
}

// enter steps over an opening bracket and reports whether elements follow.
func (s *scanner) enter(open int, closing byte) bool {
	if open > s.depth {
		s.fail(ErrDepth)
		return false
	}
	s.i++
	s.space()
	if s.b[s.i] == closing {
		s.i++
		return false
	}
	return true
}

// more steps over the byte behind an element and reports whether it was a comma.
func (s *scanner) more() bool {
	s.space()
	s.i++
	return s.b[s.i-1] == ','
}

func (s *scanner) array(open int) {
	if !s.enter(open, ']') {
		return
	}
	for {
		s.value(open)
		if s.err != nil || !s.more() {
			return
		}
	}
}

func (s *scanner) object(open int) {
	if !s.enter(open, '}') {
		return
	}
	var last []byte
	first := true
	for {
		s.space()
		before := s.i - 1
		name := s.text()
		if !first && s.canonical && !ordered(last, name) {
			s.canonical = false
		}
		last, first = name, false
		s.space()
		s.i++ // the colon
		if open == 1 && s.visitor != nil {
			s.member(name, before)
		} else {
			s.value(open)
		}
		if s.err != nil || !s.more() {
			return
		}
	}
}

// member scans the value of a top-level member and hands both out. Its comma stands at
// before if there is no white space.
func (s *scanner) member(name []byte, before int) {
	s.space()
	outer := s.canonical
	if !outer {
		before = -1
	}
	s.canonical = true
	start := s.i
	s.value(1)
	s.visitor.Visit(unquote(name), Member{Value: s.b[start:s.i:s.i], canonical: s.canonical}, before)
	s.canonical = s.canonical && outer
}

// text scans a string and returns what stands between its quotes.
func (s *scanner) text() []byte {
	s.i++
	start := s.i
	if n := bytes.IndexByte(s.b[start:], '"'); bytes.IndexByte(s.b[start:start+n], '\\') < 0 {
		s.i += n + 1
		return s.b[start : start+n]
	}
	for {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1]
		case c == '\\':
			s.escape()
		default:
			s.i++
		}
	}
}

// escape scans one escape sequence. Canonical text uses a short form where there is
// one, lower-case \u00xx for the other controls, and no other escape.
func (s *scanner) escape() {
	switch s.b[s.i+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		s.i += 2
	case 'u':
		if !canonicalUnicodeEscape(s.b[s.i+2 : s.i+6]) {
			s.canonical = false
		}
		s.i += 6
	default: // '/'
		s.canonical = false
		s.i += 2
	}
}

func canonicalUnicodeEscape(hex []byte) bool {
	if hex[0] != '0' || hex[1] != '0' || hex[2] != '0' && hex[2] != '1' {
		return false
	}
	if hex[2] == '1' {
		return '0' <= hex[3] && hex[3] <= '9' || 'a' <= hex[3] && hex[3] <= 'f'
	}
	switch hex[3] {
	case '0', '1', '2', '3', '4', '5', '6', '7', 'b', 'e', 'f':
		return true
	}
	return false // 8, 9, a, c and d have a short form; upper case is not canonical
}

// ordered reports whether name b surely comes after name a in UTF-16 order. It may
// say false for an escaped name; that costs time, never correctness.
func ordered(a, b []byte) bool {
	if bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0 {
		return false
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return utf16Rank(a[i]) < utf16Rank(b[i])
		}
	}
	return len(a) < len(b)
}

// utf16Rank orders the bytes of UTF-8 as the UTF-16 code units they begin: U+E000 to
// U+FFFF (lead bytes 0xEE and 0xEF) come after all that needs a surrogate pair.
func utf16Rank(c byte) int {
	if c == 0xEE || c == 0xEF {
		return 0x100 + int(c)
	}
	return int(c)
}

// number scans a number.
func (s *scanner) number() {
	start := s.i
	plain := true // digits and a sign only
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case '0' <= c && c <= '9' || c == '-':
		case c == '.' || c == 'e' || c == 'E' || c == '+':
			plain = false
		default:
			s.judgeNumber(s.b[start:s.i], plain)
			return
		}
	}
	s.judgeNumber(s.b[start:s.i], plain)
}

// judgeNumber takes short integers, which every double carries, without a look.
func (s *scanner) judgeNumber(text []byte, plain bool) {
	if plain && len(text) <= 15 && !(len(text) == 2 && text[0] == '-' && text[1] == '0') {
		return
	}
	if s.slow >= MaxSlowNumbers {
		s.fail(ErrSlow)
		return
	}
	var room numberRoom
	canonical, slow, ok := canonicalNumber(&room, text)
	if slow {
		s.slow++
	}
	if !ok {
		s.fail(ErrRange)
		return
	}
	if bytes.Equal(canonical, text) {
		return
	}
	s.canonical = false
	s.exact = s.exact && sameDecimal(text, canonical)
}
