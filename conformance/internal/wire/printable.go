package wire

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable returns a peer's text for people. Its control characters are written as in
// Go, so that they neither reach a terminal nor break a table.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
