package manifest_test

import (
	"encoding/json"
	"testing"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outcome is what a vector says that happens.
type outcome struct {
	OK      bool           `json:"ok"`
	Code    spoke.Code     `json:"code"`
	Details map[string]any `json:"details"`
}

// check holds an error to the outcome, details included.
func (o outcome) check(t *testing.T, err error) {
	t.Helper()
	if o.OK {
		require.NoError(t, err)
		return
	}
	reject := rejectOf(t, err)
	assert.Equal(t, o.Code, reject.Code)
	assert.Equal(t, o.Details, reject.Details)
	assert.False(t, reject.Remote())
}

func rejectOf(t *testing.T, err error) *spoke.Reject {
	t.Helper()
	var reject *spoke.Reject
	require.ErrorAs(t, err, &reject)
	return reject
}

// load reads the cases of one vector file.
func load[T any](t testing.TB, name string) []T {
	t.Helper()
	var file struct {
		Cases []T `json:"cases"`
	}
	require.NoError(t, vectors.Load(name, &file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

// dice is a manifest without problems; edit changes its members.
func dice(t testing.TB, edit func(m, tool map[string]any)) json.RawMessage {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{
		"schema_version": 1, "host_id": "h", "roles": ["input-source"], "extensions": {},
		"capabilities": ["spoke-baseline", "tools.toy.roll"], "namespaces": ["toy"],
		"tools": [{"schema_version": 1, "capability_id": "tools.toy.roll", "op": "tools.toy.roll",
			"description": "Roll dice.", "input": {"type": "object"}, "output": {}}]}`), &m))
	if edit != nil {
		edit(m, m["tools"].([]any)[0].(map[string]any))
	}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	return raw
}
