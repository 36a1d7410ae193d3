package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spoke-peer/spoke-go/internal/rfc3339"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// Error says which member does not fit.
type Error struct {
	// Field is the place of the member, such as "entry.body.tags[1]", "" for the
	// value as a whole.
	Field string
	// Problem completes a sentence that begins with the member: "must be a string".
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return "the value " + e.Problem
	}
	return e.Field + " " + e.Problem
}

// Check reports why data, the text of one JSON value, does not have the shape of T: an
// [*Error] for the first member in the order of the text that does not fit, then for one
// that is missing; another error for text that is not JSON.
func Check[T any](data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if err := planOf(reflect.TypeFor[T]()).check(d, nil); err != nil {
		return err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errTrailing
	}
	return nil
}

var errTrailing = errors.New("text behind the value")

// Decode is [Check] and then decodes data into dst, which a failure does not change.
func Decode[T any](data []byte, dst *T) error {
	if err := Check[T](data); err != nil {
		return err
	}
	return wirejson.Decode(data, dst)
}

// place is where a value stands: its own step and those that lead to it.
type place struct {
	above *place
	name  string // of a member
	index int    // of an element, -1 for a member
}

// String renders the place as "a.b[0].c".
func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return p.above.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.above == nil:
		return p.name
	}
	return p.above.String() + "." + p.name
}

// member returns the place of a member of the object at p.
func (p *place) member(name string) *place { return &place{above: p, name: name, index: -1} }

func (p *plan) wrong(at *place) *Error {
	return &Error{Field: at.String(), Problem: "must be " + p.want()}
}

// check reads one value.
func (p *plan) check(d *jsontext.Decoder, at *place) error {
	if p.null && d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	switch p.kind {
	case anything:
		return p.checkAnything(d, at)
	case list:
		return p.checkList(d, at)
	case bag:
		return p.checkBag(d, at)
	case record:
		return p.checkRecord(d, at)
	}
	return p.checkLeaf(d, at)
}

func (p *plan) checkAnything(d *jsontext.Decoder, at *place) error {
	k := d.PeekKind()
	if p.objects && k != '{' && (k != '[' || !p.lists) && k != 0 {
		return p.wrong(at)
	}
	return d.SkipValue()
}

func (p *plan) checkLeaf(d *jsontext.Decoder, at *place) error {
	value, err := d.ReadValue()
	if err == nil && !p.fits(value) {
		return p.wrong(at)
	}
	return err
}

// fits reports whether a value that is not a list or an object is as it must be.
func (p *plan) fits(value jsontext.Value) bool {
	k := value.Kind()
	isBool := k == 't' || k == 'f'
	switch p.kind {
	case text:
		return k == '"' && p.fitsText(value)
	case integer:
		return k == '0' && p.fitsInteger(value)
	case number:
		return k == '0'
	case boolean:
		return isBool
	}
	return isBool || k == '"' || k == '0'
}

func (p *plan) fitsText(value jsontext.Value) bool {
	if p.nonempty && len(value) <= len(`""`) {
		return false
	}
	if !p.time {
		return true
	}
	s, err := jsontext.AppendUnquote(nil, value)
	if err == nil {
		_, err = rfc3339.Parse(string(s))
	}
	return err == nil
}

func (p *plan) fitsInteger(value jsontext.Value) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return err == nil && (p.least == nil || n >= *p.least)
}

func (p *plan) checkList(d *jsontext.Decoder, at *place) error {
	if err := p.open(d, '[', at); err != nil {
		return err
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		if err := p.elem.check(d, &place{above: at, index: i}); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// namespace is the grammar of a namespace.
var namespace = regexp.MustCompile(`\A[a-z][a-z0-9_-]*\z`)

func (p *plan) checkBag(d *jsontext.Decoder, at *place) error {
	return p.eachMember(d, at, func(name string, here *place) error {
		if p.names && !namespace.MatchString(name) {
			return &Error{Field: at.String(), Problem: fmt.Sprintf("has a name that is not a namespace: %q", name)}
		}
		return p.elem.check(d, here)
	})
}

// seen is the set of a record's required members that were there.
type seen uint64

func (p *plan) checkRecord(d *jsontext.Decoder, at *place) error {
	var required seen
	var instead bool
	var beside string // a declared member that an instead member excludes
	r := p.record
	err := p.eachMember(d, at, func(name string, here *place) error {
		m, declared := r.members[name]
		switch {
		case !declared:
			return d.SkipValue()
		case name == r.instead:
			instead = true
		case name != "extensions":
			beside = name
		}
		if m.required >= 0 {
			required |= 1 << m.required
		}
		return m.check(d, here)
	})
	switch {
	case err != nil:
		return err
	case instead && beside != "":
		return &Error{Field: at.member(beside).String(), Problem: "must not stand beside " + r.instead}
	case instead:
		return nil
	}
	return r.missing(required, at)
}

// missing names the first required member that was not there.
func (r *recordPlan) missing(required seen, at *place) error {
	first := bits.TrailingZeros64(uint64(^required))
	if first >= len(r.required) {
		return nil
	}
	return &Error{Field: at.member(r.required[first].name).String(), Problem: "is missing"}
}

// eachMember reads an object and hands each of its names to visit, which reads the value.
func (p *plan) eachMember(d *jsontext.Decoder, at *place, visit func(name string, here *place) error) error {
	if err := p.open(d, '{', at); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if err := visit(name, at.member(name)); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// open reads the bracket that begins a list or an object.
func (p *plan) open(d *jsontext.Decoder, bracket jsontext.Kind, at *place) error {
	if k := d.PeekKind(); k != bracket && k != 0 {
		return p.wrong(at)
	}
	_, err := d.ReadToken()
	return err
}
