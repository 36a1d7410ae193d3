package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Format is the version of the file format that this package reads.
const Format = 1

// Header is what every vector file says about itself.
type Header struct {
	// Format is the version of the format, [Format].
	Format int `json:"format"`
	// Group names the file's vectors; it is the file's base name without ".json".
	Group string `json:"group"`
	// Rule is the section of the wire spec that the vectors are about.
	Rule string `json:"rule"`
	// About is one line for people.
	About string `json:"about"`
	// Count names the file's lists of cases and says how many each has.
	Count map[string]int `json:"count"`
}

// File is a vector file whose header was checked: it has as many cases as it says.
type File struct {
	Header
	text  []byte
	lists map[string][]json.RawMessage
}

// Open reads and checks the vector file called name, such as "hello.json".
func Open(files fs.FS, name string) (*File, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	file := &File{text: text, lists: make(map[string][]json.RawMessage)}
	if err := file.read(GroupOf(name)); err != nil {
		return nil, fmt.Errorf("vectors %s: %w", name, err)
	}
	return file, nil
}

// GroupOf returns the group that the file called name holds.
func GroupOf(name string) string { return strings.TrimSuffix(path.Base(name), ".json") }

// read decodes the header, checks it, and splits the lists.
func (f *File) read(group string) error {
	if err := json.Unmarshal(f.text, &f.Header); err != nil {
		return err
	}
	switch {
	case f.Format != Format:
		return fmt.Errorf("format %d, want %d", f.Format, Format)
	case f.Group != group:
		return fmt.Errorf("the file's name stands for group %q, its header says %q", group, f.Group)
	case f.Rule == "":
		return errors.New("no rule")
	case len(f.Count) == 0:
		return errors.New("no count")
	}
	return f.split()
}

// split finds the lists that the header counts.
func (f *File) split() error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(f.text, &members); err != nil {
		return err
	}
	for list, want := range f.Count {
		var cases []json.RawMessage
		if err := json.Unmarshal(members[list], &cases); err != nil {
			return fmt.Errorf("list %q: %w", list, err)
		}
		if len(cases) != want || want == 0 {
			return fmt.Errorf("list %q has %d cases, the header counts %d", list, len(cases), want)
		}
		f.lists[list] = cases
	}
	return nil
}

// Lists returns the names of the lists, sorted.
func (f *File) Lists() []string { return slices.Sorted(maps.Keys(f.lists)) }

// Cases returns the cases of one list, each as its JSON text.
func (f *File) Cases(list string) []json.RawMessage { return f.lists[list] }

// Total returns how many cases the file has.
func (f *File) Total() int {
	total := 0
	for _, n := range f.Count {
		total += n
	}
	return total
}

// Decode decodes the whole file into v, for the members beside the lists.
func (f *File) Decode(v any) error { return json.Unmarshal(f.text, v) }
