package shared_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/shared"
)

func TestTheFolderIsFoundBesideTheRepositoryOrWhereTheEnvironmentSays(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, "shared")
	deep := filepath.Join(root, "repository", "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	t.Chdir(deep)
	t.Setenv(shared.Variable, "")
	_, ok := shared.Dir()
	assert.False(t, ok, "a folder that is not there")

	require.NoError(t, os.MkdirAll(filepath.Join(data, "vectors"), 0o700))
	_, ok = shared.Dir()
	assert.False(t, ok, "a folder without the vectors' README")

	require.NoError(t, os.WriteFile(filepath.Join(data, "vectors", "README.md"), nil, 0o600))
	dir, ok := shared.Dir()
	assert.True(t, ok)
	assert.Equal(t, data, dir)

	t.Setenv(shared.Variable, filepath.Join(root, "nowhere"))
	_, ok = shared.Dir()
	assert.False(t, ok, "the environment is asked first")
	t.Chdir(os.TempDir())
	t.Setenv(shared.Variable, data)
	dir, ok = shared.Dir()
	assert.True(t, ok)
	assert.Equal(t, data, dir)
	assert.Equal(t, filepath.Join(data, "vectors", "reference"), shared.Vectors(t, "reference"))
}

func TestATestWithoutTheDataIsSkipped(t *testing.T) {
	t.Setenv(shared.Variable, filepath.Join(t.TempDir(), "nowhere"))
	t.Run("needs the data", func(t *testing.T) {
		t.Cleanup(func() { assert.True(t, t.Skipped()) })
		shared.Vectors(t, "reference")
		t.Error("went on")
	})
}
