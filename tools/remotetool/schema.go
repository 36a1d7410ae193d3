package remotetool

import (
	"encoding/json"
	"slices"
	"strings"
)

// schema is the subset of JSON Schema that catalogs carry. The zero schema takes
// anything. It does not change once it was made.
//
// Source: remote tool spec, section 2.
type schema struct {
	kind        string // "" for any
	nullable    bool
	open        bool // of an object: other members are allowed
	description string
	format      string
	enum        []string
	enumNull    bool // null is one of enum, which catalogs have no word for
	items       *schema
	properties  []property // sorted by name
	required    []string
}

type property struct {
	name   string
	schema *schema
}

// schemaOf expresses a draft-07 schema in the subset. What the subset has no word for is
// left out, so that it never refuses what the schema takes; the registry checks the
// schema itself as well.
func schemaOf(text json.RawMessage) *schema {
	m, err := membersOf(text)
	if err != nil || m["$ref"] != nil {
		return &schema{}
	}
	s := &schema{}
	s.readType(m["type"])
	s.description, _ = textOf(m["description"])
	s.format, _ = textOf(m["format"])
	s.enum, s.enumNull = enumOf(m)
	switch s.kind {
	case "object":
		s.readObject(m)
	case "array":
		if items, err := membersOf(m["items"]); err == nil && len(items) > 0 {
			s.items = schemaOf(m["items"])
		}
	}
	return s
}

// argumentsOf is schemaOf for arguments, which are always an object.
func argumentsOf(text json.RawMessage) *schema {
	s := schemaOf(text)
	if s.kind != "object" {
		m, _ := membersOf(text)
		s = &schema{kind: "object", description: s.description}
		if m["$ref"] == nil {
			s.readObject(m)
		} else {
			s.open = true
		}
	}
	s.nullable = false
	return s
}

func (s *schema) readType(raw json.RawMessage) {
	if kind, ok := textOf(raw); ok {
		s.kind = kind
		return
	}
	kinds := stringsOf(raw)
	if at := slices.Index(kinds, "null"); at >= 0 && len(kinds) == 2 {
		s.kind, s.nullable = kinds[1-at], true
	}
}

func (s *schema) readObject(m members) {
	more := string(m["additionalProperties"])
	s.open = more != "false" && strings.ReplaceAll(more, " ", "") != `{"not":{}}` || m["patternProperties"] != nil
	s.required = stringsOf(m["required"])
	properties, err := membersOf(m["properties"])
	if err != nil {
		return
	}
	for name, text := range properties {
		s.properties = append(s.properties, property{name, schemaOf(text)})
	}
	slices.SortFunc(s.properties, func(a, b property) int { return strings.Compare(a.name, b.name) })
}

// enumOf returns the texts that a value must be one of, and whether null is one as well.
// No texts mean that any other value can be.
func enumOf(m members) (texts []string, null bool) {
	if text, ok := textOf(m["const"]); ok {
		return []string{text}, false
	}
	var list []json.RawMessage
	if json.Unmarshal(m["enum"], &list) != nil {
		return nil, false
	}
	for _, raw := range list {
		text, ok := textOf(raw)
		switch {
		case ok:
			texts = append(texts, text)
		case present(raw) != nil:
			return nil, false
		default:
			null = true
		}
	}
	return texts, null
}

// takesNull reports whether null fits.
func (s *schema) takesNull() bool {
	anyKind := s.kind == "" || s.kind == "null"
	return s.nullable || anyKind && (s.enum == nil || s.enumNull)
}

// stringsOf returns the texts of a list, without its other values.
func stringsOf(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var texts []string
	for _, item := range list {
		if text, ok := textOf(item); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// append appends the schema as catalogs carry it, in the order that revisions are
// hashed in.
//
// Source: remote tool spec, sections 2 and 3.
func (s *schema) append(dst []byte) []byte {
	dst = append(dst, '{')
	if s.nullable {
		dst = appendList(dst, "type", []string{s.kind, "null"})
	} else {
		dst = appendOptional(dst, "type", s.kind)
	}
	if s.kind == "object" && s.open {
		dst = appendBool(dst, "additionalProperties", true)
	}
	dst = appendOptional(dst, "description", s.description)
	dst = appendOptional(dst, "format", s.format)
	if len(s.enum) > 0 {
		dst = appendList(dst, "enum", s.enum)
	}
	if s.items != nil {
		dst = s.items.append(appendName(dst, "items"))
	}
	if len(s.properties) > 0 {
		dst = append(appendName(dst, "properties"), '{')
		for _, p := range s.properties {
			dst = p.schema.append(appendName(dst, p.name))
		}
		dst = append(dst, '}')
	}
	if len(s.required) > 0 {
		dst = appendList(dst, "required", s.required)
	}
	return append(dst, '}')
}
