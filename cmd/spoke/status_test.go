package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestTheExitStatusOfAnError(t *testing.T) {
	t.Parallel()
	connecting := func(err error) error { return &connectError{&advisedError{err, "x"}} }
	local := func(code spoke.Code, kind string, cause error) error {
		return spoke.Rejectf(code, "x: %w", cause).WithKind(kind)
	}
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"a context's deadline":            {connecting(context.DeadlineExceeded), 4},
		"a file's deadline":               {connecting(os.ErrDeadlineExceeded), 4},
		"a socket's deadline":             {connecting(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), 4},
		"a connection that took too long": {connecting(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}), 4},
		"a connection that was refused":   {connecting(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), 3},
		"a session that fell silent":      {local(spoke.CodeInternalError, spoke.KindSessionClosed, os.ErrDeadlineExceeded), 3},
		"input that cannot be sent":       {local(spoke.CodeInvalidInput, "", io.EOF), 2},
		"a file that is not there":        {&fs.PathError{Op: "open", Err: fs.ErrNotExist}, 2},
		"a file that is a directory":      {&fs.PathError{Op: "read", Err: syscall.EISDIR}, 2},
		"a disk that is full":             {&fs.PathError{Op: "write", Err: syscall.ENOSPC}, 5},
		"an interrupt":                    {&interruptedError{connecting(io.EOF)}, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.status, statusOf(c.err))
		})
	}
}

// silent listens and tells nobody anything; met is called for each that connects.
func silent(t *testing.T, met func()) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			met()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-over })
	return "ws://" + listener.Addr().String()
}

func TestAPeerThatSaysNothingIsAlwaysATimeout(t *testing.T) {
	t.Parallel()
	key, id := keyFile(t)
	peer, err := connect.GenerateIdentity()
	require.NoError(t, err)
	url := silent(t, func() {})
	for range 20 {
		r := spokeCommand(t, "ping", url, "--key", key, "--peer", string(peer.PeerID()), "--timeout", "10ms")
		assert.Equal(t, statusTimeout, r.status, "%s", r.stderr)
	}
	r := spokeCommand(t, "conformance", "--dial", url, "--key", key, "--timeout", "1200ms")
	assert.Equal(t, statusTimeout, r.status, "%s", r.stderr)
	assert.Contains(t, r.stderr, string(id.PeerID()))
	assert.Contains(t, r.stderr, "\n0 rules judged\n")
	assert.Contains(t, r.stderr, "\nnext: see that the host runs")
}

func TestAnInterruptEndsEveryCommandThatWaits(t *testing.T) {
	t.Parallel()
	key, _ := keyFile(t)
	peer, err := connect.GenerateIdentity()
	require.NoError(t, err)
	calls := filepath.Join(t.TempDir(), "calls.json")
	require.NoError(t, os.WriteFile(calls, []byte(`[{"id":"tools.a.b"}]`), 0o600))
	for name, args := range map[string][]string{
		"ping": {"ping"}, "tools": {"tools"}, "connect": {"connect"}, "manifest show": {"manifest", "show"}, "bench": {"bench"},
		"call": {"call", "tools.a.b"}, "port": {"port", "knowledge.get"}, "batch": {"batch", calls}, "conformance": {"conformance"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			flag := "--url"
			if name == "conformance" {
				flag = "--dial"
			}
			args := append(args, "--key", key, "--peer", string(peer.PeerID()), flag, silent(t, interrupt))
			var stdout, stderr bytes.Buffer
			assert.Equal(t, statusInterrupted, run(ctx, args, &stdout, &stderr))
			assert.Empty(t, stdout.String())
			assert.Contains(t, stderr.String(), "spoke: interrupted\n")
			assert.NotContains(t, stderr.String(), "next:")
		})
	}
}

func TestAnInterruptEndsTheWaitForADialer(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "session.jsonl")
	for name, args := range map[string][]string{
		"conformance":       {"conformance", "--listen", "127.0.0.1:0"},
		"transcript record": {"transcript", "record", "--dial", "ws://127.0.0.1:1", "--out", out},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			stderr, ended, status := new(watched), make(chan struct{}), 0
			go func() { defer close(ended); status = run(ctx, args, io.Discard, stderr) }()
			require.NotEmpty(t, stderr.until(regexp.MustCompile(`waiting for .*ws://`), ended))
			interrupt()
			<-ended
			assert.Equal(t, statusInterrupted, status)
			assert.Regexp(t, `\nspoke: interrupted\n$`, stderr.String())
		})
	}
	assert.NoFileExists(t, out)
}

func TestAReportThatAnInterruptCutShortIsNoSuccess(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(io.Discard)
	report := &conformance.Report{OK: true}
	assert.NoError(t, new(conformanceFlags).show(cmd, report, true))
	interrupt()
	err := new(conformanceFlags).show(cmd, report, true)
	assert.Equal(t, statusInterrupted, statusOf(interrupted(ctx, err)))

	var stdout, stderr bytes.Buffer
	assert.Equal(t, statusInterrupted, run(ctx, []string{"conformance"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "spoke: interrupted\n")
}

func TestACommandThatSettlesAnInterruptKeepsItsStatus(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	assert.NoError(t, interrupted(ctx, settled(nil)))
	assert.Equal(t, statusTimeout, statusOf(interrupted(ctx, settled(new(offer).tooLate(context.DeadlineExceeded)))))
	assert.Equal(t, statusInterrupted, statusOf(interrupted(ctx, errReported)))
	assert.Equal(t, statusFailed, statusOf(interrupted(t.Context(), errReported)))
}

func TestAnInterruptEndsTheWaitForInput(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	typed, keyboard := io.Pipe()
	defer keyboard.Close()
	in := &stdin{ctx, typed}
	go func() { _, _ = keyboard.Write([]byte("hel")) }()
	text := make([]byte, 10)
	n, err := in.Read(text)
	require.NoError(t, err)
	assert.Equal(t, "hel", string(text[:n]))
	interrupt()
	_, err = readInput(in, "-")
	assert.ErrorIs(t, err, context.Canceled)
	typed.CloseWithError(errors.New("over"))
}
