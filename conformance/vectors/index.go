package vectors

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// IndexName is the base name of the index.
const IndexName = "index.json"

// Index says which groups a set of vector files has and how many cases are in each of
// their lists.
type Index struct {
	Format int                       `json:"format"`
	Groups map[string]map[string]int `json:"groups"`
}

// ReadIndex reads the index of a set of files.
func ReadIndex(files fs.FS) (Index, error) {
	var index Index
	text, err := fs.ReadFile(files, IndexName)
	if err != nil {
		return index, fmt.Errorf("vectors: %w", err)
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return index, fmt.Errorf("vectors %s: %w", IndexName, err)
	}
	if index.Format != Format || len(index.Groups) == 0 {
		return index, fmt.Errorf("vectors %s: format %d with %d groups, want format %d and a group", IndexName, index.Format, len(index.Groups), Format)
	}
	return index, nil
}

// Names returns the base names of the files that the index lists, sorted.
func (i Index) Names() []string {
	names := slices.Sorted(maps.Keys(i.Groups))
	for n := range names {
		names[n] += ".json"
	}
	return names
}

// Check reports whether a file has the cases that the index expects of it.
func (i Index) Check(f *File) error {
	want, ok := i.Groups[f.Group]
	if !ok {
		return fmt.Errorf("vectors %s: the index does not list this group", f.Group)
	}
	if !maps.Equal(want, f.Count) {
		return fmt.Errorf("vectors %s: the file counts %v, the index %v", f.Group, f.Count, want)
	}
	return nil
}
