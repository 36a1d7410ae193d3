package remotetool

import (
	"unicode/utf16"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// appendQuoted appends text as a JSON string in the escapes of .NET's default encoder,
// which revisions are hashed over. Invalid UTF-8 becomes U+FFFD.
//
// Source: remote tool spec, section 3.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	plain := 0
	for plain < len(text) && isPlain[text[plain]] {
		plain++
	}
	dst = append(dst, text[:plain]...)
	for _, r := range text[plain:] {
		dst = appendRune(dst, r)
	}
	return append(dst, '"')
}

// isPlain says which bytes stand for themselves.
var isPlain = func() (plain [256]bool) {
	for b := range byte(utf8.RuneSelf) {
		escaped := appendRune(nil, rune(b))
		plain[b] = len(escaped) == 1
	}
	return plain
}()

func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '\\':
		return append(dst, '\\', '\\')
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	case '"', '&', '\'', '+', '<', '>', '`':
		return appendUnit(dst, uint16(r))
	}
	switch {
	case r >= 0x20 && r < 0x7F:
		return append(dst, byte(r))
	case r < 0x10000:
		return appendUnit(dst, uint16(r))
	}
	high, low := utf16.EncodeRune(r)
	return appendUnit(appendUnit(dst, uint16(high)), uint16(low))
}

func appendUnit(dst []byte, unit uint16) []byte {
	return append(dst, '\\', 'u', upperHex[unit>>12], upperHex[unit>>8&15], upperHex[unit>>4&15], upperHex[unit&15])
}

// appendName begins a member of an object: a comma unless it is the first, the name, a
// colon.
func appendName(dst []byte, name string) []byte {
	if last := dst[len(dst)-1]; last != '{' {
		dst = append(dst, ',')
	}
	return append(appendQuoted(dst, name), ':')
}

func appendText(dst []byte, name, text string) []byte {
	return appendQuoted(appendName(dst, name), text)
}

// appendOptional appends a text that is left out when empty.
func appendOptional(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendText(dst, name, text)
}

func appendList(dst []byte, name string, list []string) []byte {
	dst = append(appendName(dst, name), '[')
	for i, item := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, item)
	}
	return append(dst, ']')
}

func appendRaw(dst []byte, name string, value []byte) []byte {
	return append(appendName(dst, name), value...)
}

func appendBool(dst []byte, name string, value bool) []byte {
	if value {
		return append(appendName(dst, name), "true"...)
	}
	return append(appendName(dst, name), "false"...)
}

// valid replaces what is no UTF-8, so that equal texts have equal hashes.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
