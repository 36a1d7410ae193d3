package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheExamplePrintsEveryStepAndSucceeds(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	assert.Contains(t, out.String(), "high at noon")
	assert.Contains(t, out.String(), "done: every step was as it should be")
	assert.NotContains(t, out.String(), secret)
	assert.Equal(t, 1, strings.Count(out.String(), "host sees "+fetchID), "a reader is not offered the fetch")
}

func TestAStepThatIsNotAsItShouldBeFails(t *testing.T) {
	w, err := newWorld(t.Context())
	require.NoError(t, err)
	defer w.close()
	r := registryOf(t, w.tools()...)
	err = play(t.Context(), new(bytes.Buffer), r, []step{{"search", searchID, searchArgs{Text: "x"}, "something else"}})
	assert.ErrorContains(t, err, "want something else")
}

func registryOf(t *testing.T, list ...*tools.Tool) *tools.Registry {
	t.Helper()
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	require.NoError(t, r.Register(list...))
	return r
}

// failureOf returns the tool's own code of an error, or the kind of the reject.
func failureOf(err error) string {
	if f, ok := tools.FailureOf(err); ok {
		return f.Code
	}
	return spoke.KindOf(err)
}

func call[Out any](ctx context.Context, r *tools.Registry, id string, args map[string]any) (Out, error) {
	return tools.Call[map[string]any, Out](ctx, r, id, args)
}
