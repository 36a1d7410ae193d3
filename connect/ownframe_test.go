package connect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a peer sends in another order, with white space, or with members of its own is
// judged by the signed bytes all the same, whether the frame holds them or not.
func TestAFrameOfOnesOwnIsJudgedByItsSignedBytes(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	sealed, err := id.SignEnvelope(RequestEnvelope, []byte(`{"session_id":"s","sequence":1,"request_id":"r","op":"o","payload":{"a":1}}`))
	require.NoError(t, err)
	text := string(sealed)
	members := strings.TrimSuffix(text, `,"extensions":{}}`)
	for name, c := range map[string]struct {
		frame   string
		inPlace bool
		valid   bool
	}{
		"as it was signed":               {text, true, true},
		"with extensions":                {members + `,"extensions":{"x":[1.0]}}`, true, true},
		"with extensions first":          {`{"extensions":{},` + members[1:] + "}", false, true},
		"without extensions":             {members + "}", true, true},
		"with white space":               {strings.Replace(text, `,"payload"`, `, "payload"`, 1), false, true},
		"with an escape":                 {strings.Replace(text, `"op"`, `"\u006fp"`, 1), false, true},
		"with another text of a number":  {strings.Replace(text, `"sequence":1`, `"sequence":1.0`, 1), false, true},
		"with another payload":           {strings.Replace(text, `{"a":1}`, `{"a":2}`, 1), true, false},
		"with a member that is not ours": {strings.Replace(text, `,"payload"`, `,"p":1,"payload"`, 1), false, false},
		"with a member of another kind":  {strings.Replace(text, `{"op"`, `{"error":{},"op"`, 1), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			frame := []byte(c.frame)
			e := envelope{own: frame}
			require.NoError(t, parseEnvelope(&e, frame, 0))
			assert.Equal(t, c.inPlace, e.signedEnd > 0 && e.before == e.signedSet(signedRequest))
			assert.Equal(t, c.valid, e.verify(signedRequest, id.PublicKey()) == "")
			assert.Equal(t, c.frame, string(frame))
		})
	}
}

func TestPooledThingsKeepNothing(t *testing.T) {
	e := envelopes.get()
	require.NoError(t, parseEnvelope(e, []byte(`{"op":"x","unknown":1,"signature":""}`), 0))
	envelopes.put(e)
	assert.Equal(t, envelope{}, *e)
}
