package remotetool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/spoke-peer/spoke-go/spoke"
)

// What can be wrong with a value, the code of an entry of a validation object.
//
// Source: remote tool spec, section 5.
const (
	issueNull       = "null_not_allowed"
	issueType       = "type_mismatch"
	issueRequired   = "required_property_missing"
	issueAdditional = "additional_property_not_allowed"
	issueEnum       = "enum_value_invalid"
	issueFormat     = "format_invalid"
)

const (
	// maxIssues bounds a validation object.
	maxIssues = 64
	// maxFormatBytes is how long a text may be to be held to its format here, and
	// maxFormatted how long all of a value together. What is left out, the registry
	// holds to its format, and knows what that can cost.
	maxFormatBytes = 4096
	maxFormatted   = 64 * maxFormatBytes
)

// issue is one way in which a value does not fit its schema.
type issue struct{ path, code, message string }

// checker collects issues.
type checker struct {
	issues    []issue
	formatted int // bytes that were held to a format
}

// check returns how the value, valid JSON, does not fit the schema.
func (s *schema) check(raw json.RawMessage) []issue {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return []issue{{"$", issueType, "not JSON"}}
	}
	var c checker
	c.value(s, value, "$")
	return c.issues
}

func (c *checker) add(path, code, format string, args ...any) {
	if len(c.issues) < maxIssues {
		c.issues = append(c.issues, issue{path, code, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) value(s *schema, value any, path string) {
	switch {
	case value == nil && s.takesNull():
		return
	case value == nil && s.kind != "null":
		c.add(path, issueNull, "null is not allowed")
		return
	case s.kind != "" && !isKind(s.kind, value):
		c.add(path, issueType, "must be of type %s", s.kind)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		c.object(s, v, path)
	case []any:
		if s.items != nil {
			for i, item := range v {
				c.value(s.items, item, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case string:
		c.text(s, v, path)
	default:
		if s.enum != nil {
			c.add(path, issueEnum, "is none of the allowed values")
		}
	}
}

func (c *checker) object(s *schema, v map[string]any, path string) {
	for _, name := range s.required {
		if _, ok := v[name]; !ok {
			c.add(path+"."+name, issueRequired, "is required")
		}
	}
	if s.kind != "object" {
		return
	}
	known := make(map[string]*schema, len(s.properties))
	for _, p := range s.properties {
		known[p.name] = p.schema
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if p, ok := known[name]; ok {
			c.value(p, v[name], path+"."+name)
		} else if !s.open {
			c.add(path+"."+name, issueAdditional, "is not known")
		}
	}
}

func (c *checker) text(s *schema, v, path string) {
	if s.enum != nil && !slices.Contains(s.enum, v) {
		c.add(path, issueEnum, "is none of the allowed values")
	}
	if s.format != "" && c.affords(s.format, v) && !gojsonschema.FormatCheckers.IsFormat(s.format, v) {
		c.add(path, issueFormat, "is not of format %s", s.format)
	}
}

// affords reports whether a text can be held to its format here. To compile a regex can
// cost a thousand times its length.
func (c *checker) affords(format, text string) bool {
	if format == "regex" || len(text) > maxFormatBytes {
		return false
	}
	c.formatted += len(text)
	return c.formatted <= maxFormatted
}

// isKind reports whether a decoded value is of a JSON type.
func isKind(kind string, value any) bool {
	switch v := value.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	case json.Number:
		return kind == "number" || kind == "integer" && isWhole(v)
	}
	return false
}

// isWhole reports whether a number has no fraction, however it is written.
func isWhole(n json.Number) bool {
	if !strings.ContainsAny(string(n), ".eE") {
		return true
	}
	f, _, err := big.ParseFloat(string(n), 10, 64, big.ToNearestEven)
	return err == nil && f.IsInt()
}

// validation returns the object that lists issues.
func validation(issues []issue) json.RawMessage {
	dst := append(appendName(appendBool([]byte{'{'}, "valid", len(issues) == 0), "errors"), '[')
	for i, it := range issues {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(append(dst, '{'), "path", it.path)
		dst = append(appendText(appendText(dst, "code", it.code), "message", it.message), '}')
	}
	return append(dst, ']', '}')
}

// issuesOf reads what a tool's own schema, which can say more than the subset, found.
// What the subset has no word for is about the form of a value.
func issuesOf(r *spoke.Reject) []issue {
	var issues []issue
	list, _ := r.Details["errors"].([]any)
	for _, entry := range list {
		e, _ := entry.(map[string]any)
		pointer, _ := e["path"].(string)
		message, _ := e["message"].(string)
		issues = append(issues, issue{pathOf(pointer), issueFormat, message})
	}
	if issues == nil {
		issues = []issue{{"$", issueType, r.Message}}
	}
	return issues
}

// pathOf turns a JSON pointer into a path from $.
func pathOf(pointer string) string {
	path := "$"
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case part == "":
		case strings.Trim(part, "0123456789") == "":
			path += "[" + part + "]"
		default:
			path += "." + part
		}
	}
	return path
}
