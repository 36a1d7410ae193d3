// Package toolflags makes command line flags of a tool's input schema.
package toolflags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// schema is what flags need of a member's schema. Anything else in it is not looked at:
// whether arguments fit is decided when they are validated.
type schema struct {
	Type        types                      `json:"type"`
	Description string                     `json:"description"`
	Enum        []json.RawMessage          `json:"enum"`
	Default     json.RawMessage            `json:"default"`
	Items       json.RawMessage            `json:"items"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// types is one type or a list of them.
type types []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *types) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// Set is the flags of one tool.
type Set struct {
	// Flags holds a flag for each member of the input.
	Flags   *pflag.FlagSet
	members map[string]*member // by flag
}

// New makes flags of an input schema. A member has the flag of its name. One whose name
// is reserved, or cannot be written as a flag, gets arg- in front of it, as often as it
// takes to be free. Members that the schema does not name have no flag.
func New(input json.RawMessage, reserved func(name string) bool) *Set {
	s := &Set{Flags: pflag.NewFlagSet("", pflag.ContinueOnError), members: make(map[string]*member)}
	s.Flags.SortFlags = false
	top := read(input)
	flags := named(top.Properties, reserved)
	for _, name := range slices.Sorted(maps.Keys(top.Properties)) {
		m, flag := &member{name: name, schema: read(top.Properties[name])}, flags[name]
		s.members[flag] = m
		added := s.Flags.VarPF(m, flag, "", m.usage(slices.Contains(top.Required, name)))
		if m.kind() == "boolean" {
			added.NoOptDefVal = "true"
		}
	}
	return s
}

// prefix is what stands before the names of members that cannot have their own.
const prefix = "arg-"

// named gives each member a flag of its own.
func named(members map[string]json.RawMessage, reserved func(name string) bool) map[string]string {
	flags, taken := make(map[string]string, len(members)), make(map[string]bool, len(members))
	for name := range members {
		if name == writable(name) && !reserved(name) {
			flags[name], taken[name] = name, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if flags[name] != "" {
			continue
		}
		flag := prefix + writable(name)
		for taken[flag] || reserved(flag) {
			flag = prefix + flag
		}
		flags[name], taken[flag] = flag, true
	}
	return flags
}

// writable is a name as a flag can have it, "" if nothing is left: on one line, without
// what a terminal would obey, and without an equals sign or a dash at its start.
func writable(name string) string {
	return strings.TrimLeft(strings.ReplaceAll(termtext.Line(name), "=", "-"), "-")
}

// read returns what can be read of a schema; a schema that is no object says nothing.
func read(text json.RawMessage) (s schema) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members)
	// Each for itself, so that one of an unexpected shape does not hide the others.
	for name, target := range map[string]any{
		"type": &s.Type, "description": &s.Description, "enum": &s.Enum, "default": &s.Default,
		"items": &s.Items, "properties": &s.Properties, "required": &s.Required,
	} {
		_ = json.Unmarshal(members[name], target)
	}
	return s
}

// Arguments returns the object of the members whose flags were set.
func (s *Set) Arguments() (json.RawMessage, error) {
	object := make(map[string]json.RawMessage)
	for _, m := range s.members {
		if value := m.value(); value != nil {
			object[m.name] = value
		}
	}
	return json.Marshal(object)
}

// Choices returns the values that a flag can have, nil when the schema does not say.
// Those that a shell could not show on its line are left out.
func (s *Set) Choices(flag string) []string {
	m, ok := s.members[flag]
	if !ok {
		return nil
	}
	if m.kind() == "boolean" {
		return []string{"true", "false"}
	}
	choices := m.schema.Enum
	if m.kind() == "array" {
		choices = read(m.schema.Items).Enum
	}
	var texts []string
	for _, choice := range choices {
		if text := plain(choice); text == termtext.Line(text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// plain is a JSON value as somebody types it: a string without its quotes.
func plain(value json.RawMessage) string {
	if text := decoded(value); text != "" {
		return text
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, value) // it was decoded before
	return compact.String()
}

// decoded is a string, "" for any other value.
func decoded(value json.RawMessage) (text string) {
	_ = json.Unmarshal(value, &text)
	return text
}

// member is the value of one flag; it implements [pflag.Value].
type member struct {
	name   string
	schema schema
	values []json.RawMessage
}

// kind is the one type of the member, "" when it can have several or any.
func (m *member) kind() string {
	kinds := slices.DeleteFunc(slices.Clone(m.schema.Type), func(t string) bool { return t == "null" })
	if len(kinds) == 1 {
		return kinds[0]
	}
	return ""
}

// usage is the help text. What stands in back quotes would become the name of the value.
func (m *member) usage(required bool) string {
	text := m.schema.Description
	if choices := m.schema.Enum; len(choices) > 0 {
		var texts []string
		for _, choice := range choices {
			texts = append(texts, plain(choice))
		}
		text += " (one of " + strings.Join(texts, ", ") + ")"
	}
	if len(m.schema.Default) > 0 {
		text += " (default " + plain(m.schema.Default) + ")"
	}
	if required {
		text += " (required)"
	}
	return strings.ReplaceAll(termtext.Line(text), "`", "'")
}

// Type implements [pflag.Value] with the word that help shows for the value.
func (m *member) Type() string {
	switch kind := m.kind(); kind {
	case "boolean":
		return "bool"
	case "integer":
		return "int"
	case "string", "number":
		return kind
	case "array":
		return "item"
	default:
		return "JSON"
	}
}

// String implements [pflag.Value].
func (m *member) String() string { return string(m.value()) }

// Set implements [pflag.Value]. A flag of an array is given once for each item, or once
// with a JSON array.
func (m *member) Set(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("must be UTF-8") // JSON would have other characters in its place
	}
	if m.kind() == "array" {
		return m.add(text)
	}
	value, err := parse(m.schema, m.kind(), text)
	if err == nil {
		m.values = []json.RawMessage{value}
	}
	return err
}

func (m *member) add(text string) error {
	var items []json.RawMessage
	if json.Unmarshal([]byte(text), &items) == nil && items != nil {
		m.values = append(m.values, items...)
		return nil
	}
	item := &member{schema: read(m.schema.Items)}
	value, err := parse(item.schema, item.kind(), text)
	if err == nil {
		m.values = append(m.values, value)
	}
	return err
}

// value is what was set, nil for nothing.
func (m *member) value() json.RawMessage {
	switch {
	case len(m.values) == 0:
		return nil
	case m.kind() != "array":
		return m.values[0]
	}
	text, err := json.Marshal(m.values)
	if err != nil {
		return nil // its items are JSON
	}
	return text
}

// parse reads a value as it is typed: strings stand for themselves, everything else is
// JSON, and where several types are possible a text that is no JSON is a string. A text
// that the schema lists as a string is that string, be it JSON as well.
func parse(s schema, kind, text string) (json.RawMessage, error) {
	if word := s.word(text); word != nil {
		return word, nil
	}
	switch {
	case kind == "string":
		return json.Marshal(text)
	case text == "null" && slices.Contains(s.Type, "null"), json.Valid([]byte(text)) && fits(kind, text):
		return json.RawMessage(text), nil
	case kind == "":
		return json.Marshal(text)
	}
	return nil, fmt.Errorf("must be JSON of type %s", kind)
}

// word returns the string of the enum that is typed as text, nil when there is none.
func (s schema) word(text string) json.RawMessage {
	for _, choice := range s.Enum {
		if choice[0] == '"' && (text == plain(choice) || text == decoded(choice)) {
			return choice
		}
	}
	return nil
}

// fits reports whether a JSON text is of the kind, by its first byte.
func fits(kind, text string) bool {
	first := strings.TrimSpace(text)[0]
	switch kind {
	case "integer", "number":
		return first == '-' || first >= '0' && first <= '9'
	case "boolean":
		return first == 't' || first == 'f'
	case "object":
		return first == '{'
	}
	return true
}
