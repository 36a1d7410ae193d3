//go:build unix

package exectool_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatACommandHasStartedEndsWithIt knows by a pipe that the command's child lives:
// as long as it does, the pipe has a writer.
func TestWhatACommandHasStartedEndsWithIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := run(t, ctx, `sh -c '(echo x; sleep 60) >`+path+` & wait'`)
		ended <- err
	}()
	alive, err := os.Open(path)
	require.NoError(t, err)
	defer alive.Close()
	_, err = io.ReadFull(alive, make([]byte, 2))
	require.NoError(t, err)
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, alive.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = io.ReadAll(alive)
	assert.NoError(t, err, "the command's child goes on")
}

func TestWhatACommandLeavesBehindDoesNotKeepItsResult(t *testing.T) {
	result, err := run(t, t.Context(), `sh -c 'echo 1; sleep 5 & exit 0'`)
	require.NoError(t, err)
	assert.JSONEq(t, "1", string(asJSON(t, result)))
}
