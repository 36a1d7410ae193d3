package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect/ws"
)

func TestAJudgeThatHasNoSessionSaysWhyAsOtherCommandsDo(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	strange, stranger := keyFile(t)
	url, host := toyHost(t, app)
	for name, c := range map[string]struct {
		args   []string
		status int
		next   string
	}{
		"a stranger":     {[]string{"--dial", url, "--key", strange}, 1, "--allow " + string(stranger.PeerID())},
		"a made-up key":  {[]string{"--dial", url}, 1, `spoke keygen -o FILE.*--key FILE`},
		"another key":    {[]string{"--dial", url, "--key", key, "--peer", string(stranger.PeerID())}, 1, "--peer " + string(host.PeerID())},
		"nobody":         {[]string{"--dial", "ws://127.0.0.1:1"}, 3, "see that the host runs"},
		"nobody's visit": {[]string{"--listen", "127.0.0.1:0", "--await", "1ms"}, 4, "let the dialer connect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := spokeCommand(t, append([]string{"conformance", "--timeout", "30s"}, c.args...)...)
			assert.Equal(t, c.status, r.status, "%s", r.stderr)
			assert.Empty(t, r.stdout)
			assert.Regexp(t, `\nnext: .*`+c.next, r.stderr)
			assert.Equal(t, name == "a stranger", strings.Contains(r.stderr, "--allow "), "a key that will not come again")
		})
	}
}

// profileFile makes a file of one profile, which is the default.
func profileFile(t *testing.T, profile map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profiles.json")
	text, err := json.Marshal(map[string]any{"default": "x", "profiles": map[string]any{"x": profile}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestAJudgeTakesItsKeyAndThePeerFromAProfile(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, _ := toyHost(t, app)
	other, stranger := keyFile(t)
	config := profileFile(t, map[string]string{
		"key": key, "peer": string(stranger.PeerID()), "url": "ws://127.0.0.1:1", "timeout": "1ns", "manifest": "missing.json",
	})
	r := spokeCommand(t, "conformance", "--config", config, "--dial", url, "--timeout", "30s")
	assert.Contains(t, r.stderr, "this side is "+string(app.PeerID()))
	assert.Equal(t, 1, r.status)
	assert.Contains(t, r.stderr, "next: the key that answered is")
	r = spokeCommand(t, "conformance", "--config", config, "--dial", url, "--key", other, "--timeout", "30s")
	assert.Contains(t, r.stderr, "this side is "+string(stranger.PeerID()))
	r = spokeCommand(t, "conformance", "--config", config, "--dial", url, "--seed", strings.Repeat("00", 32), "--timeout", "30s")
	assert.Contains(t, r.stderr, "this side is 12D3KooW")
	assert.NotContains(t, r.stderr, "this side is "+string(app.PeerID()))
}

func TestProgressIsToldEachSecondIfThereIsAny(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		said, began := new(watched), time.Now()
		stop := progress(said, func() string {
			if time.Since(began) < 4*patience {
				return "half"
			}
			return "most"
		})
		<-time.After(patience / 2)
		synctest.Wait()
		assert.Empty(t, said.String())
		<-time.After(5 * patience)
		stop()
		assert.Equal(t, "half\nmost\n", said.String())
	})
}

func TestARecorderThatReachesNobodyLeavesNoFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session.jsonl")
	url, wait := background(t, "transcript", "record", "--dial", "ws://127.0.0.1:1", "--out", file)
	dialer, err := ws.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	defer dialer.Close()
	assert.Equal(t, statusConnect, wait().status)
	assert.NoFileExists(t, file)
}
