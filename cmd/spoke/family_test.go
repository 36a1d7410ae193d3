package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
