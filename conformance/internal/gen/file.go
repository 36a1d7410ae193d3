package main

import (
	"bytes"
	"encoding/json"
	"io/fs"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

// file is one vector file.
type file struct {
	group, rule, about string
	// shared are members beside the lists, such as the seed that signs them.
	shared []member
	lists  []list
}

type member struct {
	name  string
	value any
}

// list is a named list of cases.
type list struct {
	name  string
	cases []any
}

// listOf makes a list of cases of one type.
func listOf[T any](name string, cases []T) list {
	l := list{name: name, cases: make([]any, len(cases))}
	for i, c := range cases {
		l.cases[i] = c
	}
	return l
}

// text returns the file as it is stored: its header first, one space per level.
func (f file) text() ([]byte, error) {
	counts := make([]member, len(f.lists))
	for i, l := range f.lists {
		counts[i] = member{l.name, len(l.cases)}
	}
	count, err := object(counts)
	if err != nil {
		return nil, err
	}
	members := []member{
		{"format", vectors.Format}, {"group", f.group}, {"rule", f.rule}, {"about", f.about},
		{"count", json.RawMessage(count)},
	}
	members = append(members, f.shared...)
	for _, l := range f.lists {
		members = append(members, member{l.name, l.cases})
	}
	text, err := object(members)
	if err != nil {
		return nil, err
	}
	return indented(text)
}

func indented(text []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// object returns the members as a JSON object in their order. Raw values keep their
// spelling.
func object(members []member) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		value, err := plain(m.value)
		if err != nil {
			return nil, err
		}
		out.WriteString(`"` + m.name + `":`)
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// plain marshals a value without the escapes that HTML needs.
func plain(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// indexText returns the index of the vector files in a directory.
func indexText(files fs.FS) ([]byte, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, err
	}
	index := vectors.Index{Format: vectors.Format, Groups: make(map[string]map[string]int)}
	for _, name := range names {
		if name == vectors.IndexName {
			continue
		}
		f, err := vectors.Open(files, name)
		if err != nil {
			return nil, err
		}
		index.Groups[f.Group] = f.Count
	}
	text, err := plain(index)
	if err != nil {
		return nil, err
	}
	return indented(text)
}
