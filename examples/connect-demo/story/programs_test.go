package story

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// build builds both programs.
func build(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command("go", "build", "-o", folder+string(filepath.Separator), "../host", "../app")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return folder
}

func TestTheTwoProgramsTellTheStory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a program cannot be interrupted there")
	}
	programs := build(t)
	db := filepath.Join(t.TempDir(), "world.db")
	host := exec.Command(filepath.Join(programs, "host"), "--port", "0", "--db", db)
	printed, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	defer host.Process.Kill()
	lines := bufio.NewScanner(printed)
	var url string
	for url == "" && lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "url "); ok {
			url = strings.TrimSpace(rest)
		}
	}
	out, err := exec.Command(filepath.Join(programs, "app"), "--url", url).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "app           "+appPeer+"\n"+fullStory, string(out))

	require.NoError(t, host.Process.Signal(os.Interrupt))
	for lines.Scan() {
	}
	assert.NoError(t, host.Wait(), "an interrupted host ends in order")
	_, err = os.Stat(db)
	assert.NoError(t, err)
}

func TestAHostDoesNotTouchAFileThatIsNoWorld(t *testing.T) {
	programs := build(t)
	notes := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(notes, []byte("Buy oil."), 0o600))
	out, err := exec.Command(filepath.Join(programs, "host"), "--port", "0", "--db", notes).CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), notes+": not a world store")
	text, err := os.ReadFile(notes)
	require.NoError(t, err)
	assert.Equal(t, "Buy oil.", string(text))
}
