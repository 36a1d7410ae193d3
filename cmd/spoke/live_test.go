package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
)

func TestAJudgeOfADialerThatStaysAwayFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	key, me := keyFile(t)
	app, err := connect.GenerateIdentity()
	require.NoError(t, err)
	url, wait := background(t, "conformance", "--listen", "127.0.0.1:0", "--key", key, "--await", "3s", "--json")
	ctx, stop := context.WithCancel(t.Context())
	dialing := make(chan struct{})
	go func() {
		defer close(dialing)
		_ = dialAndStay(ctx, url, app, me.PeerID())
	}()
	r := wait()
	stop()
	<-dialing
	assert.Equal(t, statusFailed, r.status, "%s", r.stdout)
	var report live.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	assert.False(t, report.OK)
	assert.Zero(t, report.Failed)
	assert.NotZero(t, report.Missed)
	last := report.Results[len(report.Results)-1]
	assert.True(t, last.Missed)
	assert.Contains(t, last.Detail, "nobody connected within 3s")
	told := regexp.MustCompile(`(?m)^\d+ rules judged$`).FindAllString(r.stderr, -1)
	assert.NotEmpty(t, told)
	assert.Equal(t, slices.Compact(slices.Clone(told)), told, "it got no further while it waited")
}

func TestAJudgeRefusesAToolThatThePeerCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, _ := toyHost(t, app)
	for name, c := range map[string]struct{ tool, says string }{
		"not a tool id":  {"bad", `spoke: --tool: INVALID_INPUT: "bad" is not a tool id`},
		"not negotiated": {"tools.x.y", "spoke: --tool: live: tools.x.y was not negotiated, only spoke-baseline"},
	} {
		r := spokeCommand(t, "conformance", "--dial", url, "--key", key, "--timeout", "30s", "--tool", c.tool)
		assert.Equal(t, statusUsage, r.status, name)
		assert.Empty(t, r.stdout, name)
		assert.Contains(t, r.stderr, c.says, name)
	}
}

func TestAFlagThatTheJudgeWouldNotUseIsRefused(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"peer": "x", "key": "x", "seed": "x", "manifest": "x", "tool": "tools.a.b", "args": "{}", "timeout": "1s", "await": "1s",
	} {
		r := spokeCommand(t, "conformance", "--group", "dispatch", "--"+name, value)
		assert.Equal(t, statusUsage, r.status, name)
		assert.Contains(t, r.stderr, "--"+name+" is about a live peer", name)
		assert.Empty(t, r.stdout, name)
	}
	r := spokeCommand(t, "conformance", "--dial", "ws://127.0.0.1:1", "--await", "1s")
	assert.Equal(t, statusUsage, r.status)
	assert.Contains(t, r.stderr, "none of the others can be")
}
