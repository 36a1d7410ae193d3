package connect

import (
	"crypto/ed25519"
	"strconv"

	"github.com/spoke-peer/spoke-go/internal/b64url"
	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// draft is a signed envelope that is being written: its members in the order of their
// names, which is the order of canonical bytes, and then the signature. So the text that
// is signed is the beginning of the frame, but for its last byte.
type draft struct {
	text  []byte
	start int // where the envelope begins in text
}

// newDraft returns an empty envelope behind dst.
func newDraft(dst []byte) draft { return draft{dst, len(dst)} }

func (d *draft) name(f field) {
	separator := byte(',')
	if len(d.text) == d.start {
		separator = '{'
	}
	d.text = append(d.text, separator, '"')
	d.text = append(d.text, fieldNames[f]...)
	d.text = append(d.text, '"', ':')
}

// json writes a member that is canonical JSON.
func (d *draft) json(f field, canonical []byte) {
	d.name(f)
	d.text = append(d.text, canonical...)
}

// content writes a member that is c.
func (d *draft) content(f field, c content) {
	d.name(f)
	d.text = c.append(d.text)
}

// string writes a member that is a string. Text that is not UTF-8 is an error.
func (d *draft) string(f field, text string) (err error) {
	d.name(f)
	d.text, err = jcs.AppendString(d.text, text)
	return err
}

// plain writes a member that is a string of plain ASCII, without quotes and controls.
func (d *draft) plain(f field, text []byte) {
	d.name(f)
	d.text = append(d.text, '"')
	d.text = append(d.text, text...)
	d.text = append(d.text, '"')
}

// number writes a member that is a non-negative integer.
func (d *draft) number(f field, n uint64) {
	d.name(f)
	d.text = strconv.AppendUint(d.text, n, 10)
}

// signed ends the text that is signed and returns it.
func (d *draft) signed() []byte {
	d.text = append(d.text, '}')
	return d.text[d.start:]
}

// seal signs the envelope and returns dst with it, empty extensions included.
//
// Source: wire spec, section 3.
func (d *draft) seal(id *Identity) []byte {
	signature := ed25519.Sign(id.private(), d.signed())
	d.text = append(d.text[:len(d.text)-1], `,"signature":"`...)
	d.text = b64url.AppendEncode(d.text, signature)
	return append(d.text, `","extensions":{}}`...)
}

// content is canonical JSON, inside an object with one member if that has a name. What
// is wrapped is not copied until the frame is written.
type content struct {
	member string // plain ASCII, "" for none
	json   []byte
}

// size is how many bytes append writes.
func (c content) size() int {
	if c.member == "" {
		return len(c.json)
	}
	return len(`{"":}`) + len(c.member) + len(c.json)
}

func (c content) append(dst []byte) []byte {
	if c.member == "" {
		return append(dst, c.json...)
	}
	dst = append(dst, `{"`...)
	dst = append(dst, c.member...)
	dst = append(dst, `":`...)
	dst = append(dst, c.json...)
	return append(dst, '}')
}
