package transcript_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

// FuzzTranscript: what Read accepts is written and read again as the same, and judging it
// ends with one line per entry.
func FuzzTranscript(f *testing.F) {
	var file struct {
		Verify []struct {
			Hello json.RawMessage `json:"hello"`
		} `json:"verify"`
	}
	require.NoError(f, vectors.Load("hello.json", &file))
	require.NotEmpty(f, file.Verify)
	var all bytes.Buffer
	for i, c := range file.Verify {
		from := []string{transcript.FromDialer, transcript.FromResponder}[i%2]
		require.NoError(f, transcript.Write(&all, transcript.Entry{From: from, Binary: i%3 == 0, Frame: string(c.Hello)}))
	}
	f.Add(all.Bytes())
	f.Add([]byte(`{"from":"dialer","binary":true,"frame":"{\"op\":1,\"payload\":1,\"request_id\":1}"}`))
	id := identityOf(f, 1)
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := transcript.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, e := range entries {
			require.NoError(t, transcript.Write(&again, e))
		}
		reread, err := transcript.Read(&again)
		require.NoError(t, err)
		assert.Equal(t, entries, reread)
		assert.Len(t, transcript.Replay(entries, id).Lines, len(entries))
	})
}
