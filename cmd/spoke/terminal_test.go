//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"github.com/spoke-peer/spoke-go/connect"
)

// screen is a terminal and what was shown on it.
type screen struct {
	tty   *os.File // the side of the program
	user  *os.File
	shown watched
	over  chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	user, tty, err := pty.Open()
	require.NoError(t, err)
	s := &screen{tty: tty, user: user, over: make(chan struct{})}
	go func() {
		defer close(s.over)
		_, _ = io.Copy(&s.shown, user) // ends with an error once nobody has the terminal
	}()
	t.Cleanup(func() { s.tty.Close(); <-s.over; user.Close() })
	return s
}

// text is all that was shown, once the programs have ended.
func (s *screen) text() string {
	s.tty.Close()
	<-s.over
	return s.shown.String()
}

// asked waits until the terminal asks and does not show what is typed.
func (s *screen) asked(t *testing.T, prompt string, plain *term.State) {
	t.Helper()
	require.NotEmpty(t, s.shown.until(regexp.MustCompile(prompt), s.over))
	require.Eventually(t, func() bool { return !assert.ObjectsAreEqual(plain, s.state(t)) }, 10*time.Second, time.Millisecond)
}

// typed types a line when it is asked for.
func (s *screen) typed(t *testing.T, prompt, line string, plain *term.State) {
	t.Helper()
	s.asked(t, prompt, plain)
	_, err := s.user.WriteString(line + "\n")
	require.NoError(t, err)
}

func (s *screen) state(t *testing.T) *term.State {
	t.Helper()
	state, err := term.GetState(int(s.tty.Fd()))
	require.NoError(t, err)
	return state
}

// spokeProgram is the command as its users run it, with an environment of its own.
func spokeProgram(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("spoke")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append([]string{"HOME=" + t.TempDir(), noExitSleep}, env...)
	return cmd
}

const escape = "\x1b["

func TestColourIsForTerminals(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, id := toyHost(t, app)
	peer := []string{url, "--key", key, "--peer", string(id.PeerID())}
	for name, c := range map[string]struct {
		env      []string
		coloured bool
	}{
		"a terminal":                    {[]string{"TERM=xterm"}, true},
		"a terminal, NO_COLOR is empty": {[]string{"TERM=xterm", "NO_COLOR="}, true},
		"NO_COLOR":                      {[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		"a terminal that has none":      {[]string{"TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs := newScreen(t), newScreen(t)
			cmd := spokeProgram(t, c.env, append([]string{"tools", "--wire"}, peer...)...)
			cmd.Stdout, cmd.Stderr = out.tty, errs.tty
			require.NoError(t, cmd.Run())
			assert.Contains(t, out.text(), "POLICY")
			assert.Contains(t, errs.text(), "signature valid")
			if !c.coloured {
				assert.NotContains(t, out.text()+errs.text(), escape)
				return
			}
			assert.Regexp(t, `\x1b\[1mID +DESCRIPTION .*\x1b\[0m`, out.text())
			assert.Contains(t, errs.text(), "-> hello: \x1b[32msignature valid\x1b[0m")
		})
	}

	t.Run("what goes to a file has none, and is data alone", func(t *testing.T) {
		errs := newScreen(t)
		cmd := spokeProgram(t, []string{"TERM=xterm"}, append([]string{"tools", "--wire"}, peer...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, errs.tty
		require.NoError(t, cmd.Run())
		assert.Regexp(t, `^ID +DESCRIPTION +POLICY +ARGUMENTS\ntools\.`, out.String())
		assert.NotContains(t, out.String(), escape)
		assert.NotContains(t, out.String(), "signature")
		assert.Contains(t, errs.text(), escape)
	})
}

// lockedKey makes a key file with the passphrase "secret".
func lockedKey(t *testing.T) (path string, id *connect.Identity) {
	t.Helper()
	skipSlowKeys(t)
	path = filepath.Join(t.TempDir(), "locked.key")
	id, err := connect.CreateIdentity(path, []byte("secret"))
	require.NoError(t, err)
	return path, id
}

// skipSlowKeys skips a test in the short run: to derive a key from a passphrase takes
// seconds under the race detector, and nothing runs beside it.
func skipSlowKeys(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("keys are slow to derive")
	}
}

func TestATerminalIsAskedForAPassphrase(t *testing.T) {
	t.Parallel()
	path, id := lockedKey(t)
	for name, c := range map[string]struct {
		typed  string
		status int
		says   string
	}{
		"the right one": {"secret", 0, ""},
		"a wrong one":   {"other", 2, "missing or wrong passphrase"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			plain := s.state(t)
			cmd := spokeProgram(t, nil, "id", "--json", path)
			var out bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, &out, s.tty
			require.NoError(t, cmd.Start())
			s.typed(t, "passphrase of .*locked.key: ", c.typed, plain)
			_ = cmd.Wait() // the status is looked at
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode())
			assert.Equal(t, c.status == 0, bytes.Contains(out.Bytes(), []byte(id.PeerID())), "%s", &out)
			assert.Equal(t, plain, s.state(t))
			assert.Contains(t, s.text(), c.says)
			assert.NotContains(t, s.text(), c.typed, "the passphrase was shown")
		})
	}

	t.Run("and an interrupt leaves the terminal as it was", func(t *testing.T) {
		s := newScreen(t)
		plain := s.state(t)
		cmd := spokeProgram(t, nil, "ping", "ws://127.0.0.1:1", "--key", path, "--peer", string(id.PeerID()))
		cmd.Stdin, cmd.Stderr = s.tty, s.tty
		require.NoError(t, cmd.Start())
		s.asked(t, "passphrase of ", plain)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait() // the status is looked at
		assert.NotZero(t, cmd.ProcessState.ExitCode())
		assert.Equal(t, plain, s.state(t))
	})

	t.Run("but not when it is set, be it wrong", func(t *testing.T) {
		s := newScreen(t)
		cmd := spokeProgram(t, []string{envPassphrase + "=other"}, "id", path)
		cmd.Stdin, cmd.Stderr = s.tty, s.tty
		assert.Error(t, cmd.Run())
		assert.Contains(t, s.text(), "next: "+envPassphrase+" is set, and is not the passphrase of this key")
	})
}

func TestANewKeyIsEncryptedWithWhatTheTerminalIsTold(t *testing.T) {
	skipSlowKeys(t)
	t.Parallel()
	for name, c := range map[string]struct {
		first, second string
		status        int
		says          string
	}{
		"the same twice":  {"secret", "secret", 0, ""},
		"two that differ": {"secret", "secreT", 2, "the two passphrases differ"},
		"nothing at all":  {"", "", 2, "the passphrase is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			plain, path := s.state(t), filepath.Join(t.TempDir(), "new.key")
			cmd := spokeProgram(t, nil, "keygen", "--encrypt", "-o", path)
			cmd.Stdin, cmd.Stderr = s.tty, s.tty
			require.NoError(t, cmd.Start())
			s.typed(t, "passphrase of the new key: ", c.first, plain)
			s.typed(t, "the same again: ", c.second, plain)
			_ = cmd.Wait() // the status is looked at
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode())
			assert.Contains(t, s.text(), c.says)
			_, err := connect.LoadIdentity(path, []byte("secret"))
			assert.Equal(t, c.status == 0, err == nil, "%v", err)
		})
	}
}
