// Package vectors embeds the conformance vectors, so that every package's tests and
// the conformance runner read the same bytes. It imports nothing of this module.
package vectors

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed *.json
var files embed.FS

// Read returns one vector file by its base name, such as "hello.json".
func Read(name string) ([]byte, error) {
	return files.ReadFile(name)
}

// Load decodes one vector file into v.
func Load(name string, v any) error {
	data, err := Read(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("vectors %s: %w", name, err)
	}
	return nil
}
