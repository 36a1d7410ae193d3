package exectool_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/exectool"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func run(t *testing.T, ctx context.Context, line string) (any, error) {
	t.Helper()
	c, err := exectool.Parse("tools.a.b=" + line)
	require.NoError(t, err)
	return c.Run(ctx, json.RawMessage(`{"n":1}`))
}

func asJSON(t *testing.T, result any) json.RawMessage {
	t.Helper()
	require.IsType(t, json.RawMessage{}, result)
	return result.(json.RawMessage)
}

func TestACommandIsSplitIntoWords(t *testing.T) {
	c, err := exectool.Parse(`tools.a.b=sh -c 'echo "$X" = y'`)
	require.NoError(t, err)
	assert.Equal(t, exectool.Command{ID: "tools.a.b", Args: []string{"sh", "-c", `echo "$X" = y`}}, c)
	for _, text := range []string{"tools.a.b", "tools.a=x", "tools.a.b=", "tools.a.b=  ", `tools.a.b='x`} {
		_, err := exectool.Parse(text)
		assert.Error(t, err, text)
	}
}

func TestArgumentsGoInAndTheResultComesOut(t *testing.T) {
	ctx := spoke.WithCaller(t.Context(), spoke.Caller{PeerID: "somebody"})
	result, err := run(t, ctx, "cat")
	require.NoError(t, err)
	assert.Equal(t, json.RawMessage(`{"n":1}`), result)
	result, err = run(t, ctx, `sh -c 'echo "[\"$SPOKE_TOOL\",\"$SPOKE_CALLER\"]"'`)
	require.NoError(t, err)
	assert.JSONEq(t, `["tools.a.b","somebody"]`, string(asJSON(t, result)))
}

func TestACommandDoesNotSeeTheSettings(t *testing.T) {
	for _, name := range []string{"SPOKE_PASSPHRASE", "SPOKE_KEY", "SPOKE_URL", "SPOKE_CALLER", "spoke_passphrase", "OTHER"} {
		t.Setenv(name, "inherited "+name)
	}
	result, err := run(t, t.Context(), `sh -c 'env | grep inherited | sed "s/.*/\"&\"/"'`)
	require.NoError(t, err)
	assert.JSONEq(t, `"OTHER=inherited OTHER"`, string(asJSON(t, result)))
}

func TestACommandThatFailsIsAFailureOfTheTool(t *testing.T) {
	for line, want := range map[string]tools.Failure{
		"sh -c 'echo a >&2; echo b >&2; exit 3'": {Code: "command_failed", Message: "b", Details: map[string]any{"exit_status": 3.0}},
		"false":                                  {Code: "command_failed", Message: "exit status 1", Details: map[string]any{"exit_status": 1.0}},
		"echo no json":                           {Code: "output_not_json", Message: "the command did not write one JSON value"},
		"true":                                   {Code: "output_not_json", Message: "the command did not write one JSON value"},
		"./no-such-program":                      {Code: "command_not_run", Message: "the command could not be run"},
		"head -c 5000000 /dev/zero":              {Code: "output_too_large", Message: "the command wrote too much"},
		"yes":                                    {Code: "output_too_large", Message: "the command wrote too much"},
		"sh -c 'yes & exit 3'":                   {Code: "output_too_large", Message: "the command wrote too much"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := run(t, ctx, line)
		failure, ok := tools.FailureOf(err)
		require.True(t, ok, "%s: %v", line, err)
		assert.Equal(t, want, *failure, line)
		assert.NoError(t, ctx.Err(), "%s: it ended before its time was over", line)
	}
}

func TestWhyACommandCouldNotBeRunIsTold(t *testing.T) {
	c, err := exectool.Parse("tools.a.b=./no-such-program")
	require.NoError(t, err)
	require.ErrorIs(t, c.Find(), os.ErrNotExist)
	var told error
	c.Failed = func(err error) { told = err }
	_, err = c.Run(t.Context(), nil)
	require.ErrorIs(t, told, os.ErrNotExist)
	assert.NotContains(t, err.Error(), "no-such-program")
	c, err = exectool.Parse("tools.a.b=sh")
	require.NoError(t, err)
	assert.NoError(t, c.Find())
}

func TestACommandEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := run(t, ctx, "sleep 60")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
