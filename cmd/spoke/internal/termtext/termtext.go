// Package termtext makes a peer's text safe to show on a terminal.
package termtext

import (
	"strings"
	"unicode"
)

// Line returns text on one line and without control characters, which could move the
// cursor or colour what follows.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}), " ")
}
