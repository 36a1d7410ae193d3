package examples

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// build compiles an example and returns the program's path.
func build(t *testing.T, example string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), example)
	out, err := exec.Command("go", "build", "-o", program, "./"+example).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// The two embed examples as two processes, started as the README says.
func TestTheEmbedExamplesTalkToEachOther(t *testing.T) {
	dialer, responder := build(t, "embed-dialer"), build(t, "embed-responder")
	dir := t.TempDir()
	inDir := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Stderr = os.Stderr
		return cmd
	}
	out, err := inDir(dialer).Output()
	require.NoError(t, err)
	app := strings.Fields(string(out))[1]

	host := inDir(responder, "-listen", "127.0.0.1:0", "-allow", app)
	stdout, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	defer func() { host.Process.Kill(); host.Wait() }()
	said := map[string]string{}
	for lines := bufio.NewScanner(stdout); len(said) < 2 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		said[name] = value
	}

	out, err = inDir(dialer, "-url", said["url"], "-host", said["host"]).Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), `"text":"Hello Ada!"`)
	assert.Contains(t, string(out), `"your_clock_says":`)

	stranger := inDir(dialer, "-key", "stranger.key", "-url", said["url"], "-host", said["host"])
	stranger.Stderr = nil
	assert.Error(t, stranger.Run(), "a stranger is refused")
}
