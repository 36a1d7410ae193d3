package connect

import (
	"errors"
	"slices"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// objectMembers returns the members of a JSON object by name, none for JSON that is no
// object.
func objectMembers(document []byte) (map[string]jcs.Member, error) {
	members := make(map[string]jcs.Member)
	err := jcs.Split(document, 0, jcs.VisitFunc(func(name []byte, m jcs.Member) { members[string(name)] = m }))
	if errors.Is(err, jcs.ErrNotObject) {
		return nil, nil
	}
	return members, err
}

// exactMembers returns the members of a JSON object that has all of required, may have
// those of optional, and has no other. What it keeps is no more than those, whatever a
// peer sends.
func exactMembers(document []byte, required, optional []string) (map[string]jcs.Member, bool) {
	members, exact := make(map[string]jcs.Member), true
	err := jcs.Split(document, 0, jcs.VisitFunc(func(name []byte, m jcs.Member) {
		text := string(name)
		if exact = exact && (slices.Contains(required, text) || slices.Contains(optional, text)); exact {
			members[text] = m
		}
	}))
	if err != nil || !exact {
		return nil, false
	}
	for _, name := range required {
		if _, has := members[name]; !has {
			return nil, false
		}
	}
	return members, true
}
