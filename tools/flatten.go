package tools

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// FlattenStrings turns an arguments object into the strings that a tool with
// Metadata.FlattenedStrings gets: members that are null are left out, strings are as
// they are, numbers and booleans are their text, lists and objects are compact JSON.
// Only the top level is flattened.
//
// Source: remote tool spec, section 5.
func FlattenStrings(args json.RawMessage) (map[string]string, error) {
	flat := make(map[string]string)
	var failed error
	err := jcs.Split(args, 0, jcs.VisitFunc(func(name []byte, m jcs.Member) {
		text, present, err := flatten(m)
		if err != nil {
			failed = err
		} else if present {
			flat[string(name)] = text
		}
	}))
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return flat, nil
}

func flatten(m jcs.Member) (text string, present bool, err error) {
	switch m.Value[0] {
	case 'n':
		return "", false, nil
	case '"':
		text, _ := m.Text()
		return text, true, nil
	case '{', '[':
		compact := jsontext.Value(append([]byte(nil), m.Value...))
		err := compact.Compact()
		return string(compact), true, err
	}
	return string(m.Value), true, nil
}
