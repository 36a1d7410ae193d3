package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

func TestTheFilesAreWhatTheGeneratorWrites(t *testing.T) {
	files := generated()
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(f.group, func(t *testing.T) {
			text, err := f.text()
			require.NoError(t, err)
			stored, err := vectors.Read(f.group + ".json")
			require.NoError(t, err)
			assert.True(t, string(text) == string(stored), "%s.json differs: run go run ./conformance/internal/gen", f.group)
		})
	}
}

func TestTheIndexListsTheFilesThatAreThere(t *testing.T) {
	text, err := indexText(vectors.Files())
	require.NoError(t, err)
	stored, err := vectors.Read(vectors.IndexName)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(stored), "run go run ./conformance/internal/gen")
}

func TestWhatVectorsExpectDoesNotComeFromTheCodeUnderTest(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if strings.HasPrefix(path, "github.com/spoke-peer/") {
				assert.Equal(t, "github.com/spoke-peer/spoke-go/conformance/vectors", path, "%s", source)
			}
		}
	}
}

func TestWritingChangesNothingThatIsThere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, vectors.Files()))
	require.NoError(t, os.Remove(filepath.Join(dir, "echo.json")))
	require.NoError(t, os.Remove(filepath.Join(dir, vectors.IndexName)))
	require.NoError(t, write(dir))
	names, err := fs.Glob(vectors.Files(), "*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		written, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		stored, err := vectors.Read(name)
		require.NoError(t, err)
		assert.True(t, string(stored) == string(written), name)
	}
}
