package draft7

import (
	"fmt"
	"strings"
)

// place is where a value stands in a document: a list of reference tokens, innermost
// first. Nil is the document itself. Rendering is left to those who report, because
// hostile names can make every pointer of a document long.
type place struct {
	up    *place
	token string
}

func (p *place) in(token string) *place { return &place{p, token} }

var escapeToken = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the RFC 6901 JSON pointer made of tokens.
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken.Replace(token))
	}
	return b.String()
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	return p.up.String() + pointer(p.token)
}

// Error says why a schema is not run: the place is a JSON pointer into the schema,
// "" for the schema itself.
type Error struct {
	Path   string
	Reason string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

func (p *place) errorf(format string, args ...any) error {
	return &Error{Path: p.String(), Reason: Clip(fmt.Sprintf(format, args...))}
}

// Problem is one way in which a value differs from its schema. Path is a JSON pointer
// into the value.
type Problem struct {
	Path    string
	Message string
}

// maxText is the longest text, in bytes, that a report quotes.
const maxText = 240

// Clip shortens text that a peer may have chosen to what a report quotes.
func Clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
