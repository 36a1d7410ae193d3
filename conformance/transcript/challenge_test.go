package transcript_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/connect"
)

// Lines of a session with a token, counted from 0.
const (
	sessionLine = 2 + iota
	challengeLine
)

// proofLine finds the answer to the challenge, whose place among the requests is open.
func proofLine(t testing.TB, entries []transcript.Entry) int {
	t.Helper()
	n := slices.IndexFunc(entries, func(e transcript.Entry) bool { return strings.Contains(e.Frame, `"proof":`) })
	require.NotEqual(t, -1, n)
	return n
}

func TestASessionWithACapabilityTokenIsOKThoughTwoFramesCarryNoSignature(t *testing.T) {
	app, host := identityOf(t, 1), identityOf(t, 2)
	entries := recordedWithToken(t, app, host)
	report := transcript.Replay(entries, app, host)
	assert.True(t, report.OK, "%+v", report)
	assert.Equal(t, len(entries)-2, report.Signed)
	assert.Equal(t, report.Signed, report.Resigned)
	assert.Equal(t, 2, report.Unsigned)
	assert.Equal(t, "challenge", report.Lines[challengeLine].Name)
	assert.Equal(t, transcript.FromResponder, report.Lines[challengeLine].From)
	answer := report.Lines[proofLine(t, entries)]
	assert.Equal(t, "answer to the challenge", answer.Name)
	assert.Equal(t, transcript.FromDialer, answer.From)
	assert.True(t, answer.Unsigned)
	assert.False(t, answer.Signed)
	var text strings.Builder
	require.NoError(t, report.WriteText(&text))
	assert.Equal(t, 2, strings.Count(text.String(), "carries no signature"))
	assert.Contains(t, text.String(), "\n7 of 7 envelopes verify; 7 of 7 match when signed again\n")
}

func TestAFrameWithoutASignatureIsOnlyOKAsAChallengeAndItsAnswer(t *testing.T) {
	app, host := identityOf(t, 1), identityOf(t, 2)
	entries := recordedWithToken(t, app, host)
	proof := proofLine(t, entries)
	type change func(*testing.T, []transcript.Entry) []transcript.Entry
	replace := func(line int, old, with string) change {
		return func(t *testing.T, e []transcript.Entry) []transcript.Entry {
			require.Contains(t, e[line].Frame, old)
			e[line].Frame = strings.Replace(e[line].Frame, old, with, 1)
			return e
		}
	}
	challenge := func(id, text, extensions string) change {
		return func(_ *testing.T, e []transcript.Entry) []transcript.Entry {
			e[challengeLine].Frame = `{"challenge":` + text + `,"challenge_id":` + id + `,"extensions":` + extensions + `,"method":"capability-token"}`
			return e
		}
	}
	sent := func(line int, from string) change {
		return func(_ *testing.T, e []transcript.Entry) []transcript.Entry { e[line].From = from; return e }
	}
	twice := func(line int) change {
		return func(_ *testing.T, e []transcript.Entry) []transcript.Entry { return slices.Insert(e, line, e[line]) }
	}
	for name, c := range map[string]struct {
		change  change
		problem string
	}{
		"a challenge of another method":           {replace(challengeLine, `"capability-token"`, `"noise-peerid"`), "method is"},
		"a challenge with a member more":          {replace(challengeLine, `{`, `{"op":"x",`), "has other members"},
		"a challenge that says a name twice":      {replace(challengeLine, `{`, `{"method":"capability-token",`), "duplicate"},
		"a challenge without a method":            {replace(challengeLine, `"method":`, `"methode":`), "method is"},
		"a challenge with an empty id":            {challenge(`""`, `"sixteen chars..."`, `{}`), "challenge_id is"},
		"a challenge whose id is a number":        {challenge(`1`, `"sixteen chars..."`, `{}`), "challenge_id is"},
		"a challenge whose extensions are a list": {challenge(`"c"`, `"sixteen chars..."`, `[]`), "extensions are"},
		"a challenge that is too short":           {challenge(`"c"`, `"fifteen chars.."`, `{}`), "fewer than 16"},
		"a challenge that is a number":            {challenge(`"c"`, `12345678901234567`, `{}`), "fewer than 16"},
		"a challenge of the dialer's":             {sent(challengeLine, transcript.FromDialer), "from the responder"},
		"a challenge before the session": {func(_ *testing.T, e []transcript.Entry) []transcript.Entry {
			e[sessionLine], e[challengeLine] = e[challengeLine], e[sessionLine]
			return e
		}, "behind the session"},
		"a second challenge":                   {twice(challengeLine), "a second challenge"},
		"an answer to another challenge":       {replace(proof, `"challenge_id":"`, `"challenge_id":"x`), "answers no challenge"},
		"an answer with a member more":         {replace(proof, `{`, `{"x":1,`), "has other members"},
		"an answer without a token":            {replace(proof, `"proof":{`, `"proof":null,"x":{`), "has other members"},
		"an answer whose token lists more":     {replace(proof, `"capabilities":[`, `"capabilities":["x",`), "signature is not valid"},
		"an answer whose token has no claims":  {replace(proof, `"claims":`, `"klaims":`), "not a capability token"},
		"an answer whose token is not signed":  {replace(proof, `"sig":"`, `"sig":"A`), "signature is not valid"},
		"an answer whose token lives for long": {replace(proof, `"exp":`, `"exp":1`), "signature is not valid"},
		"an answer of the responder's":         {sent(proof, transcript.FromResponder), "answers no challenge"},
		"a second answer":                      {twice(proof), "answers no challenge"},
		"an answer to nobody": {func(_ *testing.T, e []transcript.Entry) []transcript.Entry {
			return slices.Delete(e, challengeLine, challengeLine+1)
		}, "answers no challenge"},
		"a frame of no class": {func(_ *testing.T, e []transcript.Entry) []transcript.Entry {
			return append(e, transcript.Entry{From: transcript.FromDialer, Frame: `{"challenge_id":"world"}`})
		}, "a frame of no class"},
	} {
		t.Run(name, func(t *testing.T) {
			report := transcript.Replay(c.change(t, slices.Clone(entries)))
			assert.False(t, report.OK)
			assert.True(t, slices.ContainsFunc(report.Lines, func(l transcript.Line) bool {
				return strings.Contains(l.Problem, c.problem) && !l.Unsigned && !l.Signed
			}), "%+v", report)
		})
	}
}

func TestATokenForOtherPeersIsNoAnswer(t *testing.T) {
	app, host, other := identityOf(t, 1), identityOf(t, 2), identityOf(t, 3)
	for name, claims := range map[string]connect.TokenClaims{
		"of another subject":   {Subject: other.PeerID(), Audience: host.PeerID()},
		"for another audience": {Subject: app.PeerID(), Audience: other.PeerID()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				claims.Capabilities, claims.Expires = []string{"x"}, time.Now().Add(time.Hour)
				token, err := connect.IssueToken(host, claims, time.Time{})
				require.NoError(t, err)
				text, err := token.MarshalJSON()
				require.NoError(t, err)
				entries := record(t, app, host, nil)[:3]
				entries = append(entries,
					transcript.Entry{From: transcript.FromResponder, Frame: `{"challenge":"sixteen chars...","challenge_id":"c","extensions":{},"method":"capability-token"}`},
					transcript.Entry{From: transcript.FromDialer, Frame: `{"challenge_id":"c","extensions":{},"method":"capability-token","proof":` + string(text) + `}`})
				report := transcript.Replay(entries)
				assert.True(t, report.Lines[3].Unsigned)
				assert.Contains(t, report.Lines[4].Problem, "another peer")
				assert.False(t, report.OK)
			})
		})
	}
}
