package layout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Guards run only with a flag, in packages that are named: one that is not would never run.
func TestEveryPackageWithGuardsIsNamedWhereTheyRun(t *testing.T) {
	command := regexp.MustCompile(`(?m)^go test .*'\^TestGuard' (.*) -guard$`)
	guarded := guardedPackages(t)
	require.NotEmpty(t, guarded)
	for _, file := range []string{".ci/run", "docs/performance.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		found := command.FindStringSubmatch(string(text))
		require.NotNil(t, found, "%s has no command for the guards", file)
		assert.Equal(t, guarded, strings.Fields(found[1]), file)
	}
}

// guardedPackages lists the packages that have guards, as a command names them.
func guardedPackages(t *testing.T) (dirs []string) {
	guard := regexp.MustCompile(`(?m)^func TestGuard`)
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if guard.Match(text) {
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			dirs = append(dirs, "./"+filepath.ToSlash(dir))
		}
		return err
	}))
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
