package draft7

import (
	"encoding/json"
	"strings"
)

// kind is a set of JSON types.
type kind int

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindInteger
	kindNumber
	kindString
	kindArray
	kindObject
)

func kindNamed(name string) kind {
	switch name {
	case "null":
		return kindNull
	case "boolean":
		return kindBoolean
	case "integer":
		return kindInteger
	case "number":
		return kindNumber | kindInteger
	case "string":
		return kindString
	case "array":
		return kindArray
	case "object":
		return kindObject
	}
	return 0
}

// kindOf returns the one kind of a decoded value; an integer is not a number here.
func kindOf(v any) kind {
	switch v := v.(type) {
	case bool:
		return kindBoolean
	case json.Number:
		if integral(string(v)) {
			return kindInteger
		}
		return kindNumber
	case string:
		return kindString
	case []any:
		return kindArray
	case map[string]any:
		return kindObject
	}
	return kindNull
}

// integral reports whether canonical number text is an integer: ES6 writes e+ only
// from 1e21 on, where every double is one.
func integral(text string) bool {
	return strings.Contains(text, "e+") || !strings.ContainsAny(text, ".e")
}

func kindName(v any) string {
	switch kindOf(v) {
	case kindBoolean:
		return "a boolean"
	case kindInteger, kindNumber:
		return "a number"
	case kindString:
		return "a string"
	case kindArray:
		return "an array"
	case kindObject:
		return "an object"
	}
	return "null"
}
