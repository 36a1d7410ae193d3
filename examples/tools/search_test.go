package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// searched is a registry with a search below a root that lies beside a secret, and
// that has links out of it.
func searched(t *testing.T) *tools.Registry {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "outside"), 0o700))
	for name, text := range map[string]string{
		"outside/secret.txt":  "needle outside\n",
		"root/a.md":           "one\nneedle in a\n",
		"root/sub/b.txt":      "needle in b\nneedle again\n",
		"root/long.md":        "needle" + strings.Repeat("é", 500) + "\n",
		"root/sub/binary.dat": "\xff\xfeneedle\xff\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for link, target := range map[string]string{
		"file": filepath.Join(dir, "outside/secret.txt"), "dir": filepath.Join(dir, "outside"),
		"relative": "../outside", "up": "..", "inside": "sub",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	opened, err := os.OpenRoot(root)
	require.NoError(t, err)
	t.Cleanup(func() { opened.Close() })
	return registryOf(t, search{opened}.tool())
}

func TestASearchFindsWhatIsBelowTheRoot(t *testing.T) {
	r := searched(t)
	for _, c := range []struct {
		args  map[string]any
		files []string
		more  bool
	}{
		{map[string]any{"text": "needle"}, []string{"a.md:2", "long.md:1", "sub/b.txt:1", "sub/b.txt:2", "sub/binary.dat:1"}, false},
		{map[string]any{"text": "needle", "name": "*.txt"}, []string{"sub/b.txt:1", "sub/b.txt:2"}, false},
		{map[string]any{"text": "needle", "below": "sub/", "name": "b.*", "limit": 1}, []string{"sub/b.txt:1"}, true},
		{map[string]any{"text": "nothing"}, nil, false},
		{map[string]any{"text": "outside"}, nil, false}, // links are not followed
	} {
		got, err := call[searchResult](t.Context(), r, searchID, c.args)
		require.NoError(t, err)
		var files []string
		for _, h := range got.Hits {
			files = append(files, fmt.Sprintf("%s:%d", h.File, h.Line))
			assert.LessOrEqual(t, len(h.Text), maxHitBytes)
		}
		assert.Equal(t, c.files, files, "%v", c.args)
		assert.Equal(t, c.more, got.Truncated)
	}
}

func TestASearchCannotLeaveTheRoot(t *testing.T) {
	r := searched(t)
	for _, below := range []string{"..", "../outside", "/", "/etc", "sub/../../outside", "./..", "up/outside", "dir", "relative",
		"file", "dir/secret.txt", "up", "missing", "a\x00b", "..\\outside"} {
		got, err := call[searchResult](t.Context(), r, searchID, map[string]any{"text": "needle", "below": below})
		if err == nil {
			assert.Empty(t, got.Hits, below)
			continue
		}
		assert.Equal(t, "bad_path", failureOf(err), below)
	}
	_, err := call[searchResult](t.Context(), r, searchID, map[string]any{"text": "needle", "name": "[", "below": "."})
	assert.Equal(t, "bad_path", failureOf(err))
	for _, args := range []map[string]any{{}, {"text": ""}, {"text": "x", "limit": 0}, {"text": "x", "limit": 101}, {"text": "x", "root": "/"}} {
		_, err := call[searchResult](t.Context(), r, searchID, args)
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err), "%v", args)
	}
}

func TestASearchWithoutItsRootIsUnavailable(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	r := registryOf(t, search{root}.tool())
	root.Close()
	_, err = call[searchResult](t.Context(), r, searchID, map[string]any{"text": "x"})
	assert.Equal(t, tools.KindUnavailable, spoke.KindOf(err))
}
