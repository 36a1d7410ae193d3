package wirejson

import (
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Defaults prepares values before text is decoded into them.
type Defaults struct{ prepare *jsonv2.Unmarshalers }

// NewDefaults returns Defaults that hand prepare a pointer to every Go value that is
// about to be decoded, with what stands there so far. Prepare must be safe for
// concurrent use.
func NewDefaults(prepare func(pointer any)) *Defaults {
	return &Defaults{jsonv2.UnmarshalFromFunc(func(_ *jsontext.Decoder, pointer any) error {
		prepare(pointer)
		return errors.ErrUnsupported // decode as if there were no function
	})}
}

var readNumbers = jsonv2.UnmarshalFromFunc(readNumber)

// Into decodes JSON text into an application's value as encoding/json would, except
// that names are case-sensitive and that invalid UTF-8 and duplicate names fail.
// Defaults may be nil.
func Into(raw []byte, v any, defaults *Defaults) error {
	unmarshalers := readNumbers
	if defaults != nil {
		unmarshalers = jsonv2.JoinUnmarshalers(defaults.prepare, readNumbers)
	}
	return jsonv2.Unmarshal(raw, v, userOptions, jsonv2.MatchCaseInsensitiveNames(false),
		jsonv2.WithUnmarshalers(unmarshalers))
}

// errNotNumber is for a [json.Number] that is none.
var errNotNumber = errors.New("invalid number")

// writeNumber writes a [json.Number], which json v2 takes for any other string.
func writeNumber(enc *jsontext.Encoder, n json.Number) error {
	if kind, length := enc.StackIndex(enc.StackDepth()); kind == '{' && length%2 == 0 {
		return errors.ErrUnsupported // the name of a member
	}
	if n == "" {
		n = "0"
	}
	if v := jsontext.Value(n); v.Kind() != '0' || !v.IsValid() {
		return errNotNumber
	}
	return enc.WriteValue(jsontext.Value(n))
}

// readNumber reads a number into a [json.Number], and leaves null alone.
func readNumber(dec *jsontext.Decoder, n *json.Number) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	v, err := dec.ReadValue()
	*n = json.Number(v)
	return err
}
