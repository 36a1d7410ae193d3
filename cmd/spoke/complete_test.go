//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheShellIsNotAskedForAPassphrase(t *testing.T) {
	t.Parallel()
	path, app := lockedKey(t)
	url, id := toyHost(t, app)
	for name, env := range map[string][]string{
		"nobody set it":   nil,
		"somebody set it": {envPassphrase + "=secret"},
		"and it is wrong": {envPassphrase + "=other"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			cmd := spokeProgram(t, env, "__complete", "call", "--url", url, "--key", path, "--peer", string(id.PeerID()), "")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, io.Discard, s.tty
			require.NoError(t, cmd.Start())
			stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer stop.Stop()
			assert.NoError(t, cmd.Wait())
			assert.NotContains(t, s.text(), "passphrase")
		})
	}
}

// Not in the time that a shell waits: deciphering the key takes long on a busy machine.
func TestTheShellCompletesWithAPassphraseThatIsSet(t *testing.T) {
	path, app := lockedKey(t)
	url, id := toyHost(t, app)
	t.Setenv(envPassphrase, "secret")
	l := new(link)
	cmd := newCall(l)
	l.register(cmd.Flags())
	list, _ := l.completion(t.Context(), cmd, []string{"--url", url, "--key", path, "--peer", string(id.PeerID())}, "")
	assert.Contains(t, strings.Join(list, "\n"), "tools.toy_world.roll_dice\t")
}

func TestTheShellDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "pipe.key")
	require.NoError(t, syscall.Mkfifo(key, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	args := []string{"__complete", "call", "--timeout", "1h", "--url", "ws://127.0.0.1:1", "--key", key, "--peer", "x", ""}
	assert.Zero(t, run(ctx, args, &out, &errs))
	assert.Equal(t, ":4\n", out.String())
	assert.NoError(t, ctx.Err())
	writer, err := os.OpenFile(key, os.O_WRONLY|syscall.O_NONBLOCK, 0) // who waits for the key sees its end
	require.NoError(t, err)
	require.NoError(t, writer.Close())
}

func TestTheShellIsToldNothingThatItWouldObey(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, id := echoHost(t, app, echoInput)
	call := []string{"__complete", "call", "--url", url, "--key", key, "--peer", string(id.PeerID())}
	for name, words := range map[string][]string{
		"tools":   {"tools."},
		"flags":   {"tools.test.echo", "--"},
		"choices": {"tools.test.echo", "--arg-]0;x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := spokeCommand(t, append(call, words...)...)
			assert.Zero(t, r.status)
			assert.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x{7f}-\x{9f}]`, r.stdout)
			assert.Equal(t, name != "choices", len(r.stdout) > len(":4\n"), "%q", r.stdout)
		})
	}
}
