// Package b64url is base64url without padding, with one accepted text per value.
package b64url

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
)

// errNotCanonical covers every text that [Encode] would not write.
var errNotCanonical = errors.New("not canonical base64url without padding")

// Strict refuses set bits behind the last byte; line breaks, which it skips, are
// refused below.
var encoding = base64.RawURLEncoding.Strict()

// Encode returns the text of b.
func Encode(b []byte) string { return encoding.EncodeToString(b) }

// AppendEncode appends the text of b to dst.
func AppendEncode(dst, b []byte) []byte { return encoding.AppendEncode(dst, b) }

// DecodeExactly fills dst with the bytes of text, false unless text is what [Encode]
// writes for len(dst) bytes.
func DecodeExactly(dst, text []byte) bool {
	if len(text) != encoding.EncodedLen(len(dst)) || bytes.ContainsAny(text, "\r\n") {
		return false
	}
	n, err := encoding.Decode(dst, text)
	return err == nil && n == len(dst)
}

// Decode returns the bytes of text, refusing every text that [Encode] would not have
// written for them.
func Decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errNotCanonical
	}
	b, err := encoding.DecodeString(text)
	if err != nil {
		return nil, errNotCanonical
	}
	return b, nil
}
