package manifest

import (
	"bytes"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// members are the members of a JSON object, each as it came.
type members map[string]json.RawMessage

// parseObject reads strict JSON text that must be an object. Field names it in the
// error, a [*spoke.Reject] of code INVALID_INPUT.
func parseObject(raw json.RawMessage, field string) (members, error) {
	text, err := jcs.Canonical(raw)
	if err != nil {
		return nil, invalidField(field, "%s cannot be read: %w", field, err)
	}
	m, ok := objectOf(text)
	if !ok {
		return nil, invalidField(field, "%s must be an object", field)
	}
	return m, nil
}

// objectOf returns the members of canonical text, false when it is no object.
func objectOf(text json.RawMessage) (members, bool) {
	var m members
	if !isObject(text) || json.Unmarshal(text, &m) != nil {
		return nil, false
	}
	return m, true
}

// arrayOf returns the items of canonical text, false when it is no array.
func arrayOf(text json.RawMessage) ([]json.RawMessage, bool) {
	var items []json.RawMessage
	if len(text) == 0 || text[0] != '[' || json.Unmarshal(text, &items) != nil {
		return nil, false
	}
	return items, true
}

// stringsOf returns the strings among the items of canonical text, false when it is
// no array.
func stringsOf(text json.RawMessage) ([]string, bool) {
	items, ok := arrayOf(text)
	if !ok {
		return nil, false
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		if s, ok := stringOf(item); ok {
			list = append(list, s)
		}
	}
	return list, true
}

// stringOf returns the string that canonical text is, false when it is none.
func stringOf(text json.RawMessage) (string, bool) { return jcs.Member{Value: text}.Text() }

// isObject reports whether JSON text is an object, going by its first byte.
func isObject(text json.RawMessage) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// take removes a member and returns it as a T, the zero T when it is absent or of
// another type.
func take[T any](m members, name string) T {
	var v, zero T
	raw, ok := m[name]
	delete(m, name)
	if !ok || wirejson.Unmarshal(raw, &v) != nil {
		return zero
	}
	return v
}
