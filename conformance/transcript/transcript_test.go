package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/internal/shared"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func identityOf(t testing.TB, seed byte) *connect.Identity {
	t.Helper()
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{seed}, 32))
	require.NoError(t, err)
	return id
}

// carrier is an in-memory transport whose messages are text when it says so.
type carrier struct {
	connect.Transport
	text bool
}

func (c carrier) SendMessage(ctx context.Context, frame []byte, _ bool) error {
	return c.Send(ctx, frame)
}

func (c carrier) RecvMessage(ctx context.Context) ([]byte, bool, error) {
	frame, err := c.Recv(ctx)
	return frame, !c.text, err
}

// recorded returns the transcript of a session between the two.
func recorded(t *testing.T, app, host *connect.Identity) (entries []transcript.Entry) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { entries = record(t, app, host, nil) })
	return entries
}

// recordedWithToken is recorded for a host that wants a capability token, which the app has.
func recordedWithToken(t *testing.T, app, host *connect.Identity) (entries []transcript.Entry) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		token, err := connect.IssueToken(host, connect.TokenClaims{
			Subject: app.PeerID(), Audience: host.PeerID(), Capabilities: []string{toyworld.RollDiceID}, Expires: time.Now().Add(time.Hour),
		}, time.Time{})
		require.NoError(t, err)
		entries = record(t, app, host, &token)
	})
	return entries
}

// record relays one session in which each side invokes a tool of the other's. With a token
// the host, which issued it, wants one.
func record(t testing.TB, app, host *connect.Identity, token *connect.Token) []transcript.Entry {
	t.Helper()
	appEnd, fromApp := connect.Pipe()
	hostEnd, fromHost := connect.Pipe()
	var entries []transcript.Entry
	relayed := make(chan error, 1)
	go func() {
		relayed <- transcript.Relay(t.Context(), carrier{Transport: fromApp}, carrier{fromHost, true}, func(e transcript.Entry) error {
			entries = append(entries, e)
			return nil
		})
	}()
	accepted := make(chan *connect.Responder, 1)
	go func() {
		cfg := connect.ResponderConfig{Config: config(host, app, toyworld.HostManifest()), RequireCapabilityToken: token != nil}
		if token != nil {
			cfg.TrustedIssuers = []connect.PeerID{host.PeerID()}
		}
		r, err := connect.Accept(t.Context(), hostEnd, cfg)
		if err != nil {
			t.Error(err)
		}
		accepted <- r
	}()
	cfg := connect.DialConfig{Config: config(app, host, toyworld.AppManifest()), Remote: host.PeerID()}
	if token != nil {
		cfg.Token = *token
	}
	a, err := connect.Dial(t.Context(), appEnd, cfg)
	require.NoError(t, err)
	h := <-accepted
	_, err = a.InvokeTool(t.Context(), toyworld.RollDiceID, map[string]int{"count": 2})
	require.NoError(t, err)
	_, err = h.InvokeTool(t.Context(), toyworld.LoreLookupID, map[string]string{"entry_id": "nobody"})
	require.Error(t, err)
	a.Close()
	require.NoError(t, <-relayed)
	_ = h.Wait()
	_ = a.Wait()
	return entries
}

func config(me, far *connect.Identity, m spoke.HostCapabilityManifest) connect.Config {
	return connect.Config{Identity: me, Manifest: m, Allow: []connect.PeerID{far.PeerID()}, Tools: toyworld.Tools(), Nonces: connect.NewNonceStore(0)}
}

func namesOf(r *transcript.Report) []string {
	var names []string
	for _, l := range r.Lines {
		names = append(names, l.From+" "+l.Name)
	}
	return names
}

func TestARecordedSessionVerifiesAndMatchesWhenSignedAgain(t *testing.T) {
	app, host := identityOf(t, 1), identityOf(t, 2)
	entries := recorded(t, app, host)
	assert.True(t, entries[0].Binary)
	assert.False(t, entries[1].Binary, "the kind of a message is kept")
	report := transcript.Replay(entries, app, host)
	assert.True(t, report.OK, "%+v", report)
	assert.Equal(t, []string{
		"dialer hello", "responder hello", "responder session",
		"dialer request 0 tools.toy_world.roll_dice", "responder answer 0 tools.toy_world.roll_dice: success",
		"responder request 0 tools.toy_world.lore_lookup", "dialer answer 0 tools.toy_world.lore_lookup: KNOWLEDGE_ENTRY_NOT_FOUND",
	}, namesOf(report))
	assert.Equal(t, 7, report.Matched)
	assert.Equal(t, 3, transcript.Replay(entries, app).Resigned, "only what the app sent")

	again := rewritten(t, entries)
	assert.Equal(t, entries, again)
}

// rewritten writes a transcript and reads it.
func rewritten(t testing.TB, entries []transcript.Entry) []transcript.Entry {
	t.Helper()
	var file bytes.Buffer
	for _, e := range entries {
		require.NoError(t, transcript.Write(&file, e))
	}
	assert.Equal(t, len(entries), strings.Count(file.String(), "\n"))
	again, err := transcript.Read(&file)
	require.NoError(t, err)
	return again
}

func TestAChangedEnvelopeIsFoundWithItsFirstByte(t *testing.T) {
	app, host := identityOf(t, 1), identityOf(t, 2)
	entries := recorded(t, app, host)
	for name, c := range map[string]struct {
		line     int
		old, new string
	}{
		"a payload":                       {4, `"count":2`, `"count":3`},
		"the host's nonce":                {2, `"peer_nonce":"`, `"peer_nonce":"x`},
		"a session id":                    {3, `"session_id":"`, `"session_id":"x`},
		"an answer's code":                {7, `KNOWLEDGE_ENTRY_NOT_FOUND`, `KNOWLEDGE_ENTRY_NOT_FOUNT`},
		"an answer to nobody":             {5, `"request_id":"`, `"request_id":"x`},
		"a frame that is no envelope":     {4, `{`, ``},
		"an envelope that is of no class": {4, `"op":`, `"po":`},
		"a member that no envelope has":   {4, `{`, `{"unknown":1,`},
		"a peer id that is no peer id":    {1, `"peer_id":"12D3`, `"peer_id":"13D3`},
		"a version that nobody speaks":    {1, `"protocol_version":1`, `"protocol_version":2`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := append([]transcript.Entry(nil), entries...)
			text := changed[c.line-1].Frame
			require.Contains(t, text, c.old)
			changed[c.line-1].Frame = strings.Replace(text, c.old, c.new, 1)
			report := transcript.Replay(changed, app, host)
			assert.False(t, report.OK)
			line := report.Lines[c.line-1]
			assert.NotEmpty(t, line.Problem)
			assert.False(t, line.Signed)
			assert.False(t, transcript.Replay(changed).OK, "without keys the signature shows it")
			var b strings.Builder
			require.NoError(t, report.WriteText(&b))
			assert.Contains(t, b.String(), fmt.Sprintf("FAIL line %d", c.line))
		})
	}
}

func TestADifferenceIsShownFromItsFirstByte(t *testing.T) {
	app, host := identityOf(t, 1), identityOf(t, 2)
	entries := recorded(t, app, host)
	frame := entries[3].Frame
	cut := strings.Index(frame, `"signature":"`) + len(`"signature":"`)
	swapped := "A"
	if frame[cut] == 'A' {
		swapped = "B"
	}
	entries[3].Frame = frame[:cut] + swapped + frame[cut+1:]
	line := transcript.Replay(entries, app).Lines[3]
	require.NotNil(t, line.Difference)
	assert.Contains(t, line.Difference.Recorded, `signature":"`+swapped)
	assert.Contains(t, line.Difference.Signed, `signature":"`+frame[cut:cut+1])
	assert.Contains(t, line.Problem, fmt.Sprintf("the first at %d", line.Difference.Byte))
}

func TestAKeyOfNoPeerIsReported(t *testing.T) {
	app, host, stranger := identityOf(t, 1), identityOf(t, 2), identityOf(t, 3)
	report := transcript.Replay(recorded(t, app, host), app, stranger)
	assert.False(t, report.OK)
	assert.Equal(t, []connect.PeerID{stranger.PeerID()}, report.Strangers)
	assert.NotZero(t, report.Matched, "the other key is used")
	var text strings.Builder
	require.NoError(t, report.WriteText(&text))
	assert.Contains(t, text.String(), "\nFAIL the key of "+string(stranger.PeerID())+" belongs to no peer")
}

func TestATranscriptIsReadStrictly(t *testing.T) {
	for name, c := range map[string]struct{ text, reason string }{
		"nothing":               {"", "no entry"},
		"blank lines":           {"\n \n", "no entry"},
		"no JSON":               {"hello\n", "line 1"},
		"an unknown sender":     {`{"from":"nobody","binary":true,"frame":"{}"}`, `from is "nobody"`},
		"an unknown member":     {`{"from":"dialer","binary":true,"frame":"{}","x":1}`, "line 1"},
		"a bad line behind one": {"\n{\"from\":\"dialer\",\"binary\":true,\"frame\":\"{}\"}\n[]\n", "line 3"},
	} {
		_, err := transcript.Read(strings.NewReader(c.text))
		assert.ErrorContains(t, err, c.reason, name)
	}
	_, err := transcript.Read(io.MultiReader(strings.NewReader("{"), failing{}))
	assert.Error(t, err)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestARelayEndsWithItsContextItsRecordOrAPeer(t *testing.T) {
	keep := func(transcript.Entry) error { return nil }
	for name, c := range map[string]struct {
		record func(transcript.Entry) error
		act    func(t *testing.T, cancel context.CancelFunc, app connect.Transport)
		want   string
	}{
		"the context ends":    {keep, func(_ *testing.T, cancel context.CancelFunc, _ connect.Transport) { cancel() }, "context canceled"},
		"a peer says goodbye": {keep, func(_ *testing.T, _ context.CancelFunc, app connect.Transport) { app.Close() }, ""},
		"a frame is not recorded": {func(transcript.Entry) error { return errors.New("disk full") }, func(t *testing.T, _ context.CancelFunc, app connect.Transport) {
			require.NoError(t, app.Send(t.Context(), []byte("{}")))
		}, "disk full"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				app, fromApp := connect.Pipe()
				host, fromHost := connect.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() {
					done <- transcript.Relay(ctx, carrier{Transport: fromApp}, carrier{Transport: fromHost}, c.record)
				}()
				synctest.Wait()
				c.act(t, cancel, app)
				err := <-done
				if c.want == "" {
					assert.NoError(t, err)
				} else {
					assert.ErrorContains(t, err, c.want)
				}
				_, err = host.Recv(t.Context())
				assert.Error(t, err, "the other peer is let go")
			})
		})
	}
}

func TestTheReferencePeersSessionVerifiesAndOurSideOfItGivesTheSameBytes(t *testing.T) {
	file, err := os.Open(filepath.Join(shared.Vectors(t, "transcripts"), "connect-demo.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	entries, err := transcript.Read(file)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	host, app := identityOf(t, 0x51), identityOf(t, 0x63)
	report := transcript.Replay(entries, host, app)
	assert.True(t, report.OK, "%+v", report)
	assert.Equal(t, len(entries), report.Matched)

	for i, manifest := range []spoke.HostCapabilityManifest{toyworld.AppManifest(), toyworld.HostManifest()} {
		var hello struct{ Host spoke.HostCapabilityManifest }
		require.NoError(t, json.Unmarshal([]byte(entries[i].Frame), &hello))
		assert.Equal(t, canonical(t, hello.Host.Tools), canonical(t, manifest.Tools), "the tool descriptors of the %s", entries[i].From)
		assert.Equal(t, hello.Host.HostID, manifest.HostID)
		assert.Equal(t, hello.Host.Roles, manifest.Roles)
		assert.Equal(t, hello.Host.Namespaces, manifest.Namespaces)
		assert.Subset(t, hello.Host.Capabilities, manifest.Capabilities)
	}
}

func canonical(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	c, err := connect.Canonicalize(text)
	require.NoError(t, err)
	return string(c)
}

func ExampleReplay() {
	frame := `{"protocol_version":2,"peer_id":"12D3KooWM82bDYYgzgXaayHDdVciFe3bGvJ69qHnbSztNUJ933VQ","nonce":"a-nonce-of-enough-characters","host":{},"signature":"AAAA","extensions":{}}`
	report := transcript.Replay([]transcript.Entry{{From: transcript.FromDialer, Binary: true, Frame: frame}})
	fmt.Println(report.Lines[0].Name, "ok:", report.OK)
	fmt.Println(report.Lines[0].Problem)
	// Output:
	// hello ok: false
	// connect: handshake failed (protocol_version_mismatch): the peer speaks protocol version 2, this library speaks 1
}

func ExampleRead() {
	entries, err := transcript.Read(strings.NewReader(`{"from":"dialer","binary":true,"frame":"{}"}`))
	fmt.Println(len(entries), entries[0].From, err)
	// Output: 1 dialer <nil>
}

func ExampleWrite() {
	err := transcript.Write(os.Stdout, transcript.Entry{From: transcript.FromDialer, Binary: true, Frame: `{"a":1}`})
	fmt.Println(err)
	// Output:
	// {"from":"dialer","binary":true,"frame":"{\"a\":1}"}
	// <nil>
}

func TestAReportHasNoCharactersOfAPeerThatCommandATerminal(t *testing.T) {
	app, host := identityOf(t, 1), identityOf(t, 2)
	entries := recorded(t, app, host)
	entries[3].Frame = strings.Replace(entries[3].Frame, `"op":"`, `"op":"\u001b]0;x\u0007\t\n\u009b2J\u202e`, 1)
	var text strings.Builder
	require.NoError(t, transcript.Replay(entries).WriteText(&text))
	assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x{7f}-\x{9f}\x{202e}]`, text.String())
	assert.Contains(t, text.String(), `\x1b]0;x\a\t\n\u009b2J\u202e`)
}
