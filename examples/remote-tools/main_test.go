package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryIsTheSameOnBothCarriers(t *testing.T) {
	var stories []string
	for _, spoke := range []bool{false, true} {
		var out bytes.Buffer
		path := filepath.Join(t.TempDir(), "screen.png")
		require.NoError(t, run(t.Context(), options{spoke: spoke, out: path}, &out))
		_, story, _ := strings.Cut(out.String(), "\n")
		stories = append(stories, story)
		assert.FileExists(t, path)
	}
	assert.Equal(t, stories[0], stories[1])
	for _, line := range []string{
		"tool: ui.perform_action    write",
		`batch: 1 ui.perform_action {"node":{"id":"save","role":"button","text":"Save ✓"}}`,
		`evidence after the tap: {"nodes":[{"id":"title"`,
		"done: the saved file equals the sent one",
	} {
		assert.Contains(t, stories[0], line)
	}
}

func TestAHostInAnotherProcessIsServed(t *testing.T) {
	for _, spoke := range []bool{false, true} {
		a, err := newApp(spoke)
		require.NoError(t, err)
		server := httptest.NewServer(a)
		url := "ws" + strings.TrimPrefix(server.URL, "http")
		for range 2 {
			require.NoError(t, run(t.Context(), options{spoke: spoke, url: url, out: filepath.Join(t.TempDir(), "x.png")}, new(bytes.Buffer)))
		}
		server.Close()
		a.wait()
	}
}

func TestAnAppAloneStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.NoError(t, run(ctx, options{serve: "127.0.0.1:0"}, new(bytes.Buffer)))
}

func TestAFileThatIsNotTheSentOneFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.png")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	assert.ErrorContains(t, compare(path, strings.Repeat("0", 64)), "not the sent one")
}

func TestAPictureThatCannotBeSavedFails(t *testing.T) {
	err := run(t.Context(), options{out: filepath.Join(t.TempDir(), "no", "such", "x.png")}, new(bytes.Buffer))
	assert.ErrorContains(t, err, "save the picture")
}
