// Package vectors embeds the conformance vectors, so that every package's tests and
// the conformance runner read the same bytes. It imports nothing of this module.
//
// A vector file says what it is: the version of the format, its group, the rule of the
// wire spec that it is about, and how many cases each of its lists has. An index lists
// all files with their counts, so that a file that is missing or has lost cases is an
// error and not a shorter test. The format is described in docs/conformance.md.
package vectors

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

//go:embed *.json
var files embed.FS

// Files returns the embedded vector files and their index.
func Files() fs.FS { return files }

// Read returns one embedded file by its base name, such as "hello.json".
func Read(name string) ([]byte, error) {
	return files.ReadFile(name)
}

// Load decodes one embedded vector file into v. A file that breaks the format or has
// lost cases is an error.
func Load(name string, v any) error {
	index, err := ReadIndex(files)
	if err != nil {
		return err
	}
	file, err := Open(files, name)
	if err != nil {
		return err
	}
	if err := index.Check(file); err != nil {
		return err
	}
	if err := json.Unmarshal(file.text, v); err != nil {
		return fmt.Errorf("vectors %s: %w", name, err)
	}
	return nil
}
