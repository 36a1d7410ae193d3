// Package termtext makes a peer's text safe to show on a terminal.
package termtext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// commands reports whether r is no text but tells a terminal what to do: a control
// character could move the cursor or colour what follows, one of those for the direction
// of writing could show what follows in another order.
func commands(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Line returns text on one line and without characters that command a terminal.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return commands(r) || unicode.IsSpace(r)
	}), " ")
}

// Visible returns text in which the characters that command a terminal are written as in
// Go, such as \x1b, so that people see what was there and a table keeps its lines. A byte
// that is no UTF-8 becomes U+FFFD.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if commands(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// JSON returns a JSON text that means the same and has no character that commands a
// terminal but tabs and line breaks between its values: those that a string may hold as
// they are, from U+007F on, are escaped. A byte that is no UTF-8 becomes U+FFFD.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r >= 0x7f && commands(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
