package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/conformance/vectors"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
)

// result is what one command line printed.
type result struct {
	status         int
	stdout, stderr string
}

func spokeCommand(t testing.TB, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), args, &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

// unknownGroup is a file of a group that the runner does not know.
const unknownGroup = "made_up.json"

// vectorDir returns a directory with some of the embedded files, and [unknownGroup] if
// it is asked for.
func vectorDir(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		data, err := vectors.Read(name)
		if name == unknownGroup {
			data, err = []byte(`{"format":1,"group":"made_up","rule":"r","count":{"cases":1},"cases":[{}]}`), nil
		}
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

func TestConformancePrintsALinePerGroupAndSucceeds(t *testing.T) {
	t.Parallel()
	r := spokeCommand(t, "conformance")
	assert.Zero(t, r.status, "%s", r.stdout)
	index, err := vectors.ReadIndex(vectors.Files())
	require.NoError(t, err)
	for group := range index.Groups {
		assert.Regexp(t, `(?m)^`+group+` `, r.stdout)
	}
	assert.Regexp(t, `(?m)^jcs +185/185 +passed +[0-9.]+ ms$`, r.stdout)
	assert.Regexp(t, `^(\d+ groups done\n)*$`, r.stderr, "nothing but how far it is, on a slow machine")
}

func TestConformanceRunsADirectoryUnderEitherSpellingOfTheFlag(t *testing.T) {
	t.Parallel()
	dir := vectorDir(t, "tool_ids.json", unknownGroup)
	for _, args := range [][]string{{"-vectors", dir}, {"--vectors", dir}, {"-vectors=" + dir}, {"--vectors=" + dir}} {
		r := spokeCommand(t, append([]string{"conformance"}, args...)...)
		assert.Zero(t, r.status, "%s", r.stderr)
		assert.Contains(t, r.stdout, "23 of 23 cases passed")
		assert.Contains(t, r.stdout, "not run")
	}
}

func TestConformanceFailsWithAStatusThatSaysWhy(t *testing.T) {
	t.Parallel()
	broken := vectorDir(t, "tool_ids.json")
	path := filepath.Join(broken, "tool_ids.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(`"ok": true`), []byte(`"ok": false`), 1), 0o600))
	for name, c := range map[string]struct {
		args   []string
		says   string
		status int
	}{
		"a vector that fails":            {[]string{"conformance", "-vectors", broken}, "FAIL tool_ids cases[0]", 1},
		"a directory that is not there":  {[]string{"conformance", "-vectors", filepath.Join(broken, "no")}, "no such file", 2},
		"a directory without vectors":    {[]string{"conformance", "-vectors", t.TempDir()}, "nothing was run", 1},
		"nothing that can be run":        {[]string{"conformance", "-vectors", vectorDir(t, unknownGroup)}, "nothing was run", 1},
		"a group that is not there":      {[]string{"conformance", "-group", "made_up"}, "no vectors for group made_up", 2},
		"a flag that does not exist":     {[]string{"conformance", "-made-up"}, "unknown shorthand flag", 2},
		"an argument":                    {[]string{"conformance", "x"}, "unknown command", 2},
		"a peer id that is none":         {[]string{"conformance", "-dial", "ws://127.0.0.1:1", "-peer", "x"}, "spoke: --peer:", 2},
		"arguments that are no JSON":     {[]string{"conformance", "-dial", "ws://127.0.0.1:1", "-args", "{"}, "spoke: --args:", 2},
		"a seed that is none":            {[]string{"conformance", "-dial", "ws://127.0.0.1:1", "-seed", "xy"}, "spoke: --seed:", 2},
		"two keys":                       {[]string{"conformance", "-dial", "ws://127.0.0.1:1", "-seed", "xy", "-key", "z"}, "spoke: --key and --seed exclude", 2},
		"a key file that is not there":   {[]string{"conformance", "-dial", "ws://127.0.0.1:1", "-key", "no.key"}, "no.key", 2},
		"a manifest that is not there":   {[]string{"conformance", "-dial", "ws://127.0.0.1:1", "-manifest", "no.json"}, "spoke: --manifest:", 2},
		"both roles at once":             {[]string{"conformance", "-dial", "ws://x", "-listen", "y"}, "none of the others can be", 2},
		"nobody at the other end":        {[]string{"conformance", "-dial", "ws://127.0.0.1:1"}, "no session", 3},
		"nobody who comes":               {[]string{"conformance", "-listen", "127.0.0.1:0", "-await", "1ms"}, "nobody connected", 4},
		"an address that is none":        {[]string{"conformance", "-listen", "nowhere"}, "nowhere", 2},
		"a transcript that is not there": {[]string{"transcript", "replay", "no.jsonl"}, "no.jsonl", 2},
		"a transcript that is none":      {[]string{"transcript", "replay", path}, "transcript line 1", 2},
		"a replay with a bad seed":       {[]string{"transcript", "replay", path, "-seed", "00"}, "spoke: --seed:", 2},
		"a replay with a missing key":    {[]string{"transcript", "replay", path, "-key", "no.key"}, "no.key", 2},
		"a record without a responder":   {[]string{"transcript", "record", "-out", "x"}, "dial", 2},
		"a record over a file":           {[]string{"transcript", "record", "-dial", "ws://x", "-out", path}, "exists", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := spokeCommand(t, c.args...)
			assert.Equal(t, c.status, r.status)
			assert.Contains(t, r.stdout+r.stderr, c.says)
		})
	}
}

func TestConformanceForMachines(t *testing.T) {
	t.Parallel()
	r := spokeCommand(t, "conformance", "-json", "-group", "jcs,escapes")
	assert.Zero(t, r.status)
	var report struct {
		OK     bool
		Groups []struct{ Name, Status string }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	assert.True(t, report.OK)
	assert.Len(t, report.Groups, 2)
}

// toyHost is this library's responder behind a WebSocket server.
func toyHost(t testing.TB, app *connect.Identity) (url string, id *connect.Identity) {
	t.Helper()
	id, err := connect.GenerateIdentity()
	require.NoError(t, err)
	cfg := connect.ResponderConfig{Config: connect.Config{
		Identity: id, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{app.PeerID()},
		Tools: toyworld.Tools(), Nonces: connect.NewNonceStore(0),
	}}
	return serving(t, cfg), id
}

// serving accepts sessions behind a WebSocket server until the test is over.
func serving(t testing.TB, cfg connect.ResponderConfig) (url string) {
	t.Helper()
	var sessions sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := ws.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		sessions.Go(func() {
			if s, err := connect.Accept(context.Background(), transport, cfg); err == nil {
				_ = s.Wait()
			}
		})
	}))
	t.Cleanup(func() { server.Close(); sessions.Wait() })
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

// keyFile makes a key file.
func keyFile(t testing.TB) (string, *connect.Identity) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer.key")
	id, err := connect.CreateIdentity(path, nil)
	require.NoError(t, err)
	return path, id
}

func TestConformanceJudgesAResponder(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, id := toyHost(t, app)
	r := spokeCommand(t, "conformance", "-dial", url, "-key", key, "-peer", string(id.PeerID()), "-timeout", "30s", "-json")
	var report live.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report), "%s", r.stderr)
	for _, result := range report.Results {
		assert.Equal(t, live.Pass, result.Verdict, "%s: %s", result.Rule, result.Detail)
	}
	assert.Zero(t, r.status)
	assert.Contains(t, r.stderr, string(app.PeerID()))
}

// background runs a command that listens and returns its address and how to await it.
func background(t *testing.T, args ...string) (url string, wait func() result) {
	t.Helper()
	stderr, ended := new(watched), make(chan struct{})
	var r result
	go func() {
		defer close(ended)
		var stdout bytes.Buffer
		r.status = run(t.Context(), args, &stdout, stderr)
		r.stdout, r.stderr = stdout.String(), stderr.String()
	}()
	url = stderr.until(addressPattern, ended)
	require.NotEmpty(t, url, "the command ended: %s", stderr)
	return url, func() result { <-ended; return r }
}

func TestConformanceJudgesADialerThatComesAgainAndAgain(t *testing.T) {
	t.Parallel()
	key, me := keyFile(t)
	app, err := connect.GenerateIdentity()
	require.NoError(t, err)
	url, wait := background(t, "conformance", "-listen", "127.0.0.1:0", "-key", key, "-timeout", "30s")
	ctx, stop := context.WithCancel(t.Context())
	dialing := make(chan struct{})
	go func() {
		defer close(dialing)
		for dialAndStay(ctx, url, app, me.PeerID()) == nil {
		}
	}()
	r := wait()
	stop()
	<-dialing
	assert.Zero(t, r.status, "%s", r.stdout)
	assert.Contains(t, r.stdout, " 0 failed, 0 lenient, 0 not run")
}

// dialAndStay holds one session until the other side ends it; an error means that there
// is nobody any more.
func dialAndStay(ctx context.Context, url string, app *connect.Identity, host connect.PeerID) error {
	transport, err := ws.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { transport.Close() })
	defer stop()
	adapter, err := connect.Dial(ctx, transport, connect.DialConfig{Config: connect.Config{
		Identity: app, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{host}, Tools: toyworld.Tools(), Nonces: memory,
	}, Remote: host})
	if err != nil {
		return ctx.Err()
	}
	invoked := make(chan struct{})
	go func() {
		defer close(invoked)
		_, _ = adapter.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 1})
	}()
	_ = adapter.Wait()
	<-invoked
	return ctx.Err()
}

// memory is the nonces that the dialer remembers from session to session.
var memory = connect.NewNonceStore(0)

func TestARecordedSessionReplays(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	target, id := toyHost(t, app)
	file := filepath.Join(t.TempDir(), "session.jsonl")
	url, wait := background(t, "transcript", "record", "-dial", target, "-out", file)
	transport, err := ws.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	adapter, err := connect.Dial(t.Context(), transport, connect.DialConfig{Config: connect.Config{
		Identity: app, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{id.PeerID()}, Tools: toyworld.Tools(),
	}, Remote: id.PeerID()})
	require.NoError(t, err)
	_, err = adapter.InvokeTool(t.Context(), toyworld.RollDiceID, map[string]int{"count": 2})
	require.NoError(t, err)
	adapter.Close()
	r := wait()
	assert.Zero(t, r.status)
	assert.Equal(t, "5 frames recorded\n", r.stdout)

	r = spokeCommand(t, "transcript", "replay", file, "-key", key)
	assert.Zero(t, r.status, "%s%s", r.stdout, r.stderr)
	assert.Contains(t, r.stdout, "request 0 tools.toy_world.roll_dice")
	assert.Contains(t, r.stdout, "5 of 5 envelopes verify; 2 of 2 match when signed again")

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte(`\"count\":2`), []byte(`\"count\":3`), 1), 0o600))
	r = spokeCommand(t, "transcript", "replay", file, "-key", key, "-json")
	assert.Equal(t, 1, r.status)
	assert.Contains(t, r.stdout, `"ok":false`)
	assert.Contains(t, r.stdout, `"byte":`)
}

func TestAWriterThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	assert.Equal(t, 1, run(t.Context(), []string{"conformance", "-group", "dispatch"}, full{}, &stderr))
	assert.Contains(t, stderr.String(), "disk full")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
