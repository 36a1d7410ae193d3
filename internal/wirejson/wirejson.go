// Package wirejson encodes and decodes the wire structs of this library.
//
// It is one door to the JSON v2 semantics that every wire type needs: nil slices
// are [], nil maps are {}, names are case-sensitive, duplicate names and invalid
// UTF-8 are refused, and members that a struct does not declare are kept in its
// embedded Unknown map.
package wirejson

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

var numbers = jsonv2.MarshalToFunc(writeNumber)

var wireOptions = jsonv2.JoinOptions(
	jsonv2.Deterministic(true),
	jsonv2.WithMarshalers(numbers),
)

// Marshal returns the JSON of v.
func Marshal(v any) ([]byte, error) {
	return jsonv2.Marshal(v, wireOptions)
}

// Unmarshal decodes data into v.
func Unmarshal(data []byte, v any) error {
	return jsonv2.Unmarshal(data, v)
}

// Decode decodes data into a fresh T and stores it in dst only when that worked,
// so that a failed decode changes nothing and old members do not shine through.
func Decode[T any](data []byte, dst *T) error {
	var fresh T
	if err := Unmarshal(data, &fresh); err != nil {
		return err
	}
	*dst = fresh
	return nil
}

// ErrNotJSON is returned by [Raw] for a value that JSON cannot carry.
var ErrNotJSON = errors.New("value cannot be carried by JSON")

// userOptions encode an application's value as encoding/json does, except that nil
// slices and maps are [] and {}, and that invalid UTF-8 and duplicate names fail.
var userOptions = jsonv2.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsonv2.FormatNilSliceAsNull(false),
	jsonv2.FormatNilMapAsNull(false),
	jsontext.AllowInvalidUTF8(false),
	jsontext.AllowDuplicateNames(false),
	jsonv2.WithMarshalers(numbers),
)

// Raw returns an application's value as JSON text: a [json.RawMessage] is handed
// back as it is and not checked, anything else is marshalled as encoding/json would,
// but for nil slices and maps, which are [] and {}. Nil is null.
func Raw(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok && raw != nil {
		return raw, nil
	}
	raw, err := jsonv2.Marshal(v, userOptions)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return raw, nil
}
