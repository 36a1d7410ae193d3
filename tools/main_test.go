package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const echoID = "tools.test.echo"

// echo is a tool that answers its arguments.
func echo[T any](t testing.TB) *tools.Tool {
	t.Helper()
	return tools.New(echoID, "Echo.", func(_ context.Context, in T) (T, error) { return in, nil })
}

// open returns a registry in which everything is allowed.
func open(t testing.TB, list ...*tools.Tool) *tools.Registry {
	t.Helper()
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	require.NoError(t, r.Register(list...))
	return r
}

// failing returns a tool whose handler returns err.
func failing(err error) *tools.Tool {
	return tools.New(echoID, "Fail.", func(context.Context, struct{}) (any, error) { return nil, err })
}

func text(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

func rejectOf(t testing.TB, err error) *spoke.Reject {
	t.Helper()
	var r *spoke.Reject
	require.ErrorAs(t, err, &r)
	return r
}

// requireReject holds an error to its code and details.
func requireReject(t testing.TB, err error, code spoke.Code, details map[string]any) *spoke.Reject {
	t.Helper()
	r := rejectOf(t, err)
	assert.Equal(t, code, r.Code, "%v", r)
	assert.Equal(t, details, r.Details, "%v", r)
	return r
}

func idsOf(entries []tools.Entry) []string {
	ids := []string{}
	for _, e := range entries {
		ids = append(ids, e.ID())
	}
	return ids
}
