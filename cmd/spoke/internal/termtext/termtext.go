// Package termtext makes a peer's text safe to show on a terminal.
package termtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text on one line and without control characters, which could move the
// cursor or colour what follows.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}), " ")
}

// JSON returns a JSON text that means the same and has no control character but tabs and
// line breaks between its values: those that a string may hold as they are, U+007F to
// U+009F, are escaped. A byte that is no UTF-8 becomes U+FFFD.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r >= 0x7f && unicode.IsControl(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
