package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFamilyOfCommandsAloneShowsItsHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"manifest"}, {"transcript"}, {"completion"}, {"help", "manifest"}, {"help", "manifest", "check"},
		{"help", "call", "tools.a.b"}, {"help"}, {},
	} {
		r := spokeCommand(t, args...)
		assert.Zero(t, r.status, "%v", args)
		assert.Contains(t, r.stdout, "Usage:", "%v", args)
		assert.Empty(t, r.stderr, "%v", args)
	}
	r := spokeCommand(t, "completion", "bash")
	assert.Zero(t, r.status)
	assert.Contains(t, r.stdout, "bash completion")
}

func TestTheCommandTellsItsVersion(t *testing.T) {
	t.Parallel()
	r := spokeCommand(t, "--version")
	assert.Zero(t, r.status)
	assert.Regexp(t, `^spoke version \S+\n$`, r.stdout)
}

func TestJSONIsOneValueALine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"conformance", "--group", "tool_ids"}, {"manifest", "init", "--tool", "tools.a.b"}, {"transcript", "replay", tinyTranscript(t)},
	} {
		r := spokeCommand(t, append(args, "--json")...)
		assert.Equal(t, 1, strings.Count(r.stdout, "\n"), "%v: %s", args, r.stdout)
		assert.True(t, json.Valid([]byte(r.stdout)), "%v", args)
	}
}

// tinyTranscript is a transcript of one frame, which is no envelope.
func tinyTranscript(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"from":"dialer","binary":true,"frame":"{}"}`+"\n"), 0o600))
	return path
}

func TestConnectTakesItsURLBeforeACommand(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, host := toyHost(t, app)
	peer := []string{"--key", key, "--peer", string(host.PeerID())}
	for _, args := range [][]string{
		append([]string{"connect", url, "ping", "-n", "1"}, peer...),
		append(append([]string{"connect"}, peer...), url, "ping", "-n", "1"),
		append(append([]string{"connect"}, peer...), "ping", "-n", "1", url),
		append([]string{"connect", "--url", url, "ping", "-n", "1"}, peer...),
	} {
		r := spokeCommand(t, args...)
		assert.Zero(t, r.status, "%v: %s", args, r.stderr)
		assert.Regexp(t, `^answer 1 in [0-9.]+ ms\n$`, r.stdout)
	}
	r := spokeCommand(t, append([]string{"connect", "--json", url}, peer...)...)
	assert.Zero(t, r.status, "%s", r.stderr)
	assert.Contains(t, r.stdout, `"host_id":"demo-inference-host"`)
	r = spokeCommand(t, append([]string{"connect", url, "call", "tools.toy_world.roll_dice", "--count", "1", "--json"}, peer...)...)
	assert.Contains(t, r.stdout, `"total"`, "%s", r.stderr)
}
