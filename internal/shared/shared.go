// Package shared finds test data that lies beside the repository and is no part of it:
// fixtures of the protocol's public repository and recorded sessions. Tests that need it
// are skipped where it is not there, and say so.
package shared

import (
	"os"
	"path/filepath"
	"testing"
)

// Variable names the environment variable that says where the data is.
const Variable = "SPOKE_SHARED"

const missing = "skipped: no shared vectors beside the repository; set " + Variable + " to their folder"

// Vectors returns a folder of the vectors, such as "reference". The test is skipped when
// there is no data.
func Vectors(t testing.TB, folder string) string {
	t.Helper()
	dir, ok := Dir()
	if !ok {
		t.Skip(missing)
	}
	return filepath.Join(dir, "vectors", folder)
}

// Dir returns the folder, false when there is none: the one that the environment names,
// else a folder called shared next to the repository.
func Dir() (string, bool) {
	if dir := os.Getenv(Variable); dir != "" {
		return dir, isShared(dir)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if dir := filepath.Join(here, "shared"); isShared(dir) {
			return dir, true
		}
		parent := filepath.Dir(here)
		if parent == here {
			return "", false
		}
		here = parent
	}
}

func isShared(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "vectors", "README.md"))
	return err == nil
}
