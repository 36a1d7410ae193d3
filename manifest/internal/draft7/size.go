package draft7

import "encoding/json"

// textSize returns the length of v's canonical text in bytes. V is what a canonical
// document decodes to.
func textSize(v any) int {
	switch v := v.(type) {
	case bool:
		if v {
			return len("true")
		}
		return len("false")
	case json.Number:
		return len(v)
	case string:
		return stringSize(v)
	case []any:
		n := listSize(len(v))
		for _, item := range v {
			n += textSize(item)
		}
		return n
	case map[string]any:
		n := len("{}")
		for name, member := range v {
			n += memberSize(name) + textSize(member)
		}
		return n
	}
	return len("null")
}

func listSize(items int) int { return len("[]") + max(0, items-1) }

// memberSize is what a member's name adds to an object, its colon and a comma
// included. The comma that the first member lacks is not worth a special case.
func memberSize(name string) int { return stringSize(name) + len(":,") }

func stringSize(s string) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '\b' || c == '\t' || c == '\n' || c == '\f' || c == '\r':
			n++
		case c < 0x20:
			n += len(`\u0000`) - 1
		}
	}
	return n
}
