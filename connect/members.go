package connect

import (
	"errors"

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
// those of optional, and has no other.
func exactMembers(document []byte, required, optional []string) (map[string]jcs.Member, bool) {
	members, err := objectMembers(document)
	if err != nil {
		return nil, false
	}
	known := 0
	for _, name := range required {
		if _, has := members[name]; !has {
			return nil, false
		}
		known++
	}
	for _, name := range optional {
		if _, has := members[name]; has {
			known++
		}
	}
	return members, known == len(members)
}
