package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/tools"
)

// echoHost offers one tool that answers its arguments, tools.test.echo.
func echoHost(t testing.TB, app *connect.Identity, input string) (url string, id *connect.Identity) {
	t.Helper()
	registry := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	d := descriptorOf("tools.test.echo", "Says \x1b]0;x\a the same.")
	d.Input = json.RawMessage(input)
	require.NoError(t, registry.Register(tools.Raw(d, echo)))
	id, err := connect.GenerateIdentity()
	require.NoError(t, err)
	cfg := connect.ResponderConfig{Config: connect.Config{
		Identity: id, Manifest: registry.Describe(baseManifest("echo", "echo")), Allow: []connect.PeerID{app.PeerID()},
		Tools: registry, Nonces: connect.NewNonceStore(0),
	}}
	return serving(t, cfg), id
}

const echoInput = `{"type":"object","properties":{
	"text":{"type":"string"},"n":{"type":"integer"},"loud":{"type":"boolean"},"url":{"type":"string"},"arg-url":{"type":"string"},
	"pick":{"enum":["1","2","true",true]},"\u001b]0;x\u0007":{"enum":["\u009b2J","a\tb"],"default":"\u001b[2J"},"odd":true}}`

func TestTheValueOfAToolsFlagIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, id := echoHost(t, app, echoInput)
	call := append([]string{"call"}, "--url", url, "--key", key, "--peer", string(id.PeerID()), "tools.test.echo")
	for line, want := range map[string]string{
		"--text -hello --json":                       `{"text":"-hello"}`,
		"-text -hello -json":                         `{"text":"-hello"}`,
		"--json --text -h":                           `{"text":"-h"}`,
		"--json --text --help":                       `{"text":"--help"}`,
		"--json --text --json":                       `{"text":"--json"}`,
		"--json --text --text":                       `{"text":"--text"}`,
		"--json --text --":                           `{"text":"--"}`,
		"--json --text --url":                        `{"text":"--url"}`,
		"--json --text=--url":                        `{"text":"--url"}`,
		"--json --loud --timeout 20s --n -5":         `{"loud":true,"n":-5}`,
		"--json --help=false --text x":               `{"text":"x"}`,
		"--loud --json":                              `{"loud":true}`,
		"-loud -json -n -5":                          "",
		"--json --arg-arg-url a --arg-url b":         `{"arg-url":"b","url":"a"}`,
		"--json --text --timeout --timeout=20s":      `{"text":"--timeout"}`,
		"--json --timeout soon":                      "",
		"--json --loud --timeout soon":               "",
		"--json --loud --timeout":                    "",
		"--json --made-up x":                         "",
		`--json {"text":"-hello"} --profile nowhere`: "",
	} {
		t.Run(line, func(t *testing.T) {
			r := spokeCommand(t, append(call, strings.Fields(line)...)...)
			if want == "" {
				assert.Equal(t, statusUsage, r.status, "%s%s", r.stdout, r.stderr)
				return
			}
			assert.Zero(t, r.status, "%s", r.stderr)
			assert.Equal(t, want+"\n", r.stdout)
		})
	}
	t.Run("and is no setting", func(t *testing.T) {
		r := spokeCommand(t, append(call, "--text", "--json")...)
		assert.Equal(t, "{\n  \"text\": \"--json\"\n}\n", r.stdout, "%s", r.stderr)
		assert.Zero(t, r.status)
	})
	t.Run("and help is for people alone", func(t *testing.T) {
		r := spokeCommand(t, append(call, "-h")...)
		assert.Zero(t, r.status)
		assert.Contains(t, r.stdout, "--arg-arg-url string")
		assert.NotRegexp(t, notForTerminals, r.stdout)
	})
}

func TestAWrongGuessAboutTheConnectionIsToldOf(t *testing.T) {
	t.Parallel()
	known, tool := pflag.NewFlagSet("", 0), pflag.NewFlagSet("", 0)
	known.String("url", "", "")
	tool.String("text", "", "")
	words := []string{"tools.a.b", "--text", "--url", "ws://x"}
	line, err := readCall(known, nil, words)
	require.NoError(t, err)
	assert.Equal(t, []setting{{"url", "ws://x", true}}, line.settings)
	_, err = line.settle(known, tool, words)
	assert.ErrorContains(t, err, "write --FLAG=--url")
}
