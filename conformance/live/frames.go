package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
)

// damage is a way in which an envelope can be no strict JSON, or too much of it.
type damage struct {
	name string
	// member is what the envelope carries in the place that the damage is about: the
	// arguments of a request, or an extension of a hello's manifest.
	member any
	// spoil changes the text after it was signed; nil leaves it.
	spoil func(text []byte) []byte
}

const mark = "conformance-mark"

// replaceMark puts bytes that cannot be signed where the mark stands in the text.
func replaceMark(with string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"`+mark+`"`), []byte(with)) }
}

// damages are the frames that a peer must not accept; large makes one too large.
func damages(large int) []damage {
	return []damage{
		{"text that is no JSON", nil, func([]byte) []byte { return []byte("hello") }},
		{"a truncated envelope", nil, func(text []byte) []byte { return text[:len(text)-1] }},
		{"an envelope with text behind it", nil, func(text []byte) []byte { return append(text, `{}`...) }},
		{"a duplicate name", nil, duplicateName},
		{"invalid UTF-8", mark, replaceMark("\"\xff\"")},
		{"a lone surrogate", mark, replaceMark(`"\ud800"`)},
		{"a number above the double range", mark, replaceMark(`1e400`)},
		{"300 levels of nesting", json.RawMessage(strings.Repeat("[", 300) + strings.Repeat("]", 300)), nil},
		{fmt.Sprintf("more than %d KiB", large>>10), strings.Repeat("x", large), nil},
	}
}

// duplicateName says the first member of the text twice.
func duplicateName(text []byte) []byte {
	first := text[1:bytes.IndexByte(text, ',')]
	return append([]byte(`{`+string(first)+`,`), text[1:]...)
}

func (d damage) apply(f wire.Frame) wire.Frame {
	if d.spoil != nil {
		f.Text = d.spoil(bytes.Clone(f.Text))
	}
	return f
}

// frameRules are the rules about frames in an established session; each ends one.
func frameRules() []rule {
	var rules []rule
	for _, d := range damages(4 << 20) {
		rules = append(rules, rule{"a frame ends the session: " + d.name, 1, true, func(ctx context.Context, s *script) error {
			defer s.discard()
			return onSession(func(c *conn, ctx context.Context) error { return c.damaged(ctx, d) })(ctx, s)
		}})
	}
	return rules
}

// damaged sends the frame and then an honest request, which must find the session ended.
func (c *conn) damaged(ctx context.Context, d damage) error {
	doc := c.honestRequest(0)
	if d.member != nil {
		doc["payload"] = wire.Object{"arguments": wire.Object{"conformance": d.member}}
	}
	f, err := wire.Sign(c.ID, doc)
	if err != nil {
		return err
	}
	bad := d.apply(f)
	if c.Send(ctx, bad) != nil {
		return nil
	}
	_, answer, err := c.ask(ctx, c.honestRequest(0), "")
	switch {
	case closed(err):
		return nil
	case err != nil:
		return acceptedf("the session stays open and answers nothing")
	case c.Early(bad), !moved(answer.Outcome()):
		return acceptedf("took it for a request, and answered %s to the next", answer.Outcome())
	}
	return acceptedf("ignored it, and answered %s to the next", answer.Outcome())
}
