package main

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// update writes the session of the documentation anew.
var update = flag.Bool("update", false, "write what the commands print into docs/cli.md")

const (
	cliPage     = "../../docs/cli.md"
	docsAddress = "127.0.0.1:8787"
)

// changing is what differs from run to run and stands for itself.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "3f0c2d5e-7a41-4c9b-9d57-0b1f6f2a8e10"},
	{regexp.MustCompile(`\d+\.\d ms`), "0.8 ms"},
}

var peerIDs = regexp.MustCompile(`12D3KooW[1-9A-HJ-NP-Za-km-z]{44}`)

// terminal runs the commands of a documented session one after the other. Keys are new
// in each run: ids says which id stands for the documented one.
type terminal struct {
	t       *testing.T
	dir     string
	env     []string
	address string
	ids     map[string]string
}

// run returns what a command prints, as it stands in the documentation. One that ends
// with & stays until the test ends; it has printed when it tells its address.
func (s *terminal) run(line, documented string) string {
	for doc, real := range s.ids {
		line = strings.ReplaceAll(line, doc, real)
	}
	line = strings.ReplaceAll(line, docsAddress, s.address)
	if assignment, ok := strings.CutPrefix(line, "export "); ok {
		s.env = append(s.env, strings.Split(assignment, " ")...)
		return ""
	}
	var output string
	if background, ok := strings.CutSuffix(line, " &"); ok {
		output = s.background(background)
	} else {
		cmd := s.command(line)
		text, _ := cmd.CombinedOutput() // the documentation shows failures too
		output = string(text)
	}
	return s.documented(output, documented)
}

func (s *terminal) command(line string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, s.env, time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

func (s *terminal) background(line string) string {
	line = strings.Replace(line, "spoke serve", "spoke serve --listen "+s.address, 1)
	cmd, out := s.command(line), new(watched)
	cmd.Stdout = out
	require.NoError(s.t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s.t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); <-ended })
	require.NotEmpty(s.t, out.until(addressPattern, ended), "the host ended: %s", line)
	return out.String()
}

// documented is output with what changes replaced, and learns new ids from it.
func (s *terminal) documented(output, before string) string {
	known := peerIDs.FindAllString(before, -1)
	for i, real := range peerIDs.FindAllString(output, -1) {
		if !slices.Contains(slices.Collect(maps.Values(s.ids)), real) {
			doc := real
			if i < len(known) {
				doc = known[i]
			}
			s.ids[doc] = real
		}
	}
	for doc, real := range s.ids {
		output = strings.ReplaceAll(output, real, doc)
	}
	for _, c := range changing {
		output = c.pattern.ReplaceAllString(output, c.with)
	}
	return strings.ReplaceAll(output, s.address, docsAddress)
}

// session runs the commands of a block of the documentation and returns it as it has
// to be.
func (s *terminal) session(block string) string {
	var out bytes.Buffer
	for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
		line, printed, _ := strings.Cut(step, "\n")
		out.WriteString("$ " + line + "\n" + s.run(line, printed))
	}
	return out.String()
}

func TestTheSessionOfTheDocumentationIsWhatTheCommandsPrint(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(cliPage)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(page), "```console\n")
	require.True(t, ok, "no session")
	block, tail, ok := strings.Cut(rest, "```\n")
	require.True(t, ok)
	require.Greater(t, strings.Count(block, "\n$ "), 5, "the session lost its commands")

	s := &terminal{t: t, dir: t.TempDir(), address: freeAddress(t), ids: make(map[string]string)}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, noExitSleep}
	got := s.session(block)
	if *update {
		require.NoError(t, os.WriteFile(cliPage, []byte(head+"```console\n"+got+"```\n"+tail), 0o644))
		return
	}
	assert.Equal(t, block, got, "go test ./cmd/spoke -run Documentation -update writes it anew")
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
