package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// TestMain is an app when the host starts this binary as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] != "" && os.Args[1][0] != '-' {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestAHostRoutesAmongProcessesOfWhichOneIsKilledAndComesBack(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	assert.Equal(t, `3 apps, together they have
  tools.text.shout
  tools.toy_world.lore_lookup
  tools.toy_world.roll_dice
every tool answers
the app with the dice is killed; its tool has nobody
it is started again; its tool answers
the other two tools answered every call
`, out.String())
}

func TestACallThatShouldNotFailFailsTheStory(t *testing.T) {
	ok := func(tally) bool { return true }
	for name, c := range map[string]struct {
		tool string
		err  error
		want string
	}{
		"another kind of failure": {toyworld.RollDiceID, errors.New("no"), toyworld.RollDiceID + ": no"},
		"a tool without a peer":   {shoutID, spoke.Rejectf("x", "x").WithKind(spoke.KindNoCapablePeer), shoutID + ": 1 calls failed"},
		"a call that was lost":    {shoutID, connect.ErrSessionClosed, shoutID + ": 1 calls failed"},
	} {
		t.Run(name, func(t *testing.T) {
			all := &calls{of: map[string]*caller{}}
			for _, tool := range order {
				all.of[tool] = &caller{tool: tool, changed: make(chan struct{})}
			}
			require.NoError(t, all.stop())
			all.of[c.tool].record(c.err)
			assert.EqualError(t, all.stop(), c.want)
		})
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	c := &caller{changed: make(chan struct{})}
	assert.NoError(t, c.await(done, ok))
	assert.Error(t, c.await(done, func(tally) bool { return false }))
}
