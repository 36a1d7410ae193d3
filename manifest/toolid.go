package manifest

import (
	"strings"

	"github.com/spoke-peer/spoke-go/spoke"
)

// ParseToolID splits a tool id tools.<namespace>.<tool> into its parts. The error is a
// [*spoke.Reject] of code INVALID_INPUT with details.capability_id.
//
// The grammar is ^tools\.[a-z][a-z0-9_-]*\.[a-z0-9][a-z0-9_-]*$, where the end means
// the end of id, not a place before a final newline. Length is no part of it: an id
// travels as an op, which is limited to 256 characters there.
//
// Source: wire spec, section 6.
func ParseToolID(id string) (namespace, tool string, err error) {
	if namespace, tool, ok := splitToolID(id); ok {
		return namespace, tool, nil
	}
	return "", "", spoke.Rejectf(spoke.CodeInvalidInput, "%q is not a tool id (tools.<namespace>.<tool>)", clip(id)).
		WithDetail(detailCapabilityID, id)
}

// ValidToolID reports whether id is a tool id, as [ParseToolID] does.
func ValidToolID(id string) bool {
	_, _, ok := splitToolID(id)
	return ok
}

func splitToolID(id string) (namespace, tool string, ok bool) {
	rest, ok := strings.CutPrefix(id, "tools.")
	if !ok {
		return "", "", false
	}
	namespace, tool, ok = strings.Cut(rest, ".")
	if !ok || !isNamespace(namespace) || !isToolName(tool) {
		return "", "", false
	}
	return namespace, tool, true
}

func isNamespace(s string) bool { return s != "" && isLower(s[0]) && isName(s) }

func isToolName(s string) bool { return s != "" && (isLower(s[0]) || isDigit(s[0])) && isName(s) }

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLower(c) && !isDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
