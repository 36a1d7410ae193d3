package connect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAManifestIsJudgedOnce(t *testing.T) {
	host := func(note string) json.RawMessage {
		return json.RawMessage(`{"capabilities":["a","b"],"host_id":"h","namespaces":["n"],"note":"` + note + `","roles":[],"schema_version":1}`)
	}
	var j judged
	first, err := j.peer(host("x"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, first.capabilities)
	assert.NotEmpty(t, first.problems)
	again, err := j.peer(host("x"))
	require.NoError(t, err)
	assert.Same(t, &first.capabilities[0], &again.capabilities[0])
	other, err := j.peer(host("y"))
	require.NoError(t, err)
	assert.NotSame(t, &first.capabilities[0], &other.capabilities[0])

	_, err = j.peer(json.RawMessage(`[]`))
	require.Error(t, err)
	_, err = j.peer(json.RawMessage(`[]`))
	require.Error(t, err, "what is no manifest stays none")

	for range 2 {
		_, err = j.ours(host("x"))
		require.Error(t, err, "what a peer may say with problems, we may not")
	}
}

func TestLargeManifestsAndManyAreNotRemembered(t *testing.T) {
	var j judged
	large := json.RawMessage(`{"capabilities":[],"note":"` + strings.Repeat("x", maxJudgedBytes) + `"}`)
	_, err := j.peer(large)
	require.NoError(t, err)
	assert.Empty(t, j.peers.known)
	for i := range 3 * maxJudged {
		_, err := j.peer(json.RawMessage(`{"capabilities":[],"n":` + strings.Repeat("1", i+1) + `}`))
		require.NoError(t, err)
	}
	assert.Len(t, j.peers.known, maxJudged)
}
