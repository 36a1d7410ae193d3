// Package exectool makes a tool of a command: its arguments are JSON on stdin, its
// result is JSON on stdout.
package exectool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// Command is a command that serves a tool.
type Command struct {
	ID   string
	Args []string // the program and its arguments
	// Failed, unless nil, is told why the command could not be run, which its caller is
	// not.
	Failed func(error)
}

// Parse reads tools.NAMESPACE.TOOL=COMMAND. The command is split into words as a shell
// does, quotes included, and is not run by one.
func Parse(text string) (Command, error) {
	id, line, ok := strings.Cut(text, "=")
	if !ok {
		return Command{}, fmt.Errorf("%q is not tools.NAMESPACE.TOOL=COMMAND", text)
	}
	if _, _, err := manifest.ParseToolID(id); err != nil {
		return Command{}, err
	}
	words, err := shellquote.Split(line)
	if err != nil {
		return Command{}, fmt.Errorf("%s: %w", id, err)
	}
	if len(words) == 0 {
		return Command{}, fmt.Errorf("%s: no command", id)
	}
	return Command{ID: id, Args: words}, nil
}

// Find looks for the program, as [Command.Run] does.
func (c Command) Find() error {
	_, err := exec.LookPath(c.Args[0])
	return err
}

const (
	// maxOutput bounds what is kept of a command's output; a result has to fit into a
	// frame.
	maxOutput = 4 << 20
	// maxComplaint bounds what the caller is told of stderr.
	maxComplaint = 400
	// grace is how long output is awaited after a command ended or was ended.
	grace = time.Second
)

// Run serves one call; it is a [spoke.ToolHandler]. With ctx ends the command and, where
// processes have groups, what it has started. A command that fails, or whose output is
// not JSON, is a reject; the last line of its stderr is the message. So is one that
// writes too much, which ends it as well.
func (c Command) Run(ctx context.Context, args json.RawMessage) (any, error) {
	running, end := context.WithCancel(ctx)
	defer end()
	stdout, stderr := limited{full: end}, limited{full: func() {}}
	cmd := exec.CommandContext(running, c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(args), &stdout, &stderr
	cmd.Env = append(environment(), "SPOKE_TOOL="+c.ID)
	if caller, ok := spoke.CallerFromContext(ctx); ok {
		cmd.Env = append(cmd.Env, "SPOKE_CALLER="+caller.PeerID)
	}
	cmd.WaitDelay = grace
	ownGroup(cmd)
	err := cmd.Run()
	if stdout.lost {
		return nil, &tools.Failure{Code: "output_too_large", Message: "the command wrote too much"}
	}
	// Something that the command left running may keep its output open.
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, c.failure(ctx, err, stderr.text.String())
	}
	if !json.Valid(stdout.text.Bytes()) {
		return nil, &tools.Failure{Code: "output_not_json", Message: "the command did not write one JSON value"}
	}
	return json.RawMessage(stdout.text.Bytes()), nil
}

// environment is that of this program without its own settings: what a command writes
// goes to its caller, who may choose what it does, and a passphrase or a password in a
// URL is not for them.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(strings.ToUpper(variable), "SPOKE_") // Windows ignores case
	})
}

// failure says why a command did not succeed.
func (c Command) failure(ctx context.Context, err error, stderr string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &tools.Failure{
			Code: "command_failed", Message: complaint(stderr, exit.Error()),
			Details: map[string]any{"exit_status": float64(exit.ExitCode())},
		}
	}
	if c.Failed != nil {
		c.Failed(err)
	}
	return &tools.Failure{Code: "command_not_run", Message: "the command could not be run"}
}

// complaint is the last line of stderr, cut short, or otherwise what there is.
func complaint(stderr, otherwise string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	last := strings.ToValidUTF8(lines[len(lines)-1], "")
	if last == "" {
		return otherwise
	}
	return strings.ToValidUTF8(last[:min(len(last), maxComplaint)], "")
}

// limited keeps the first maxOutput bytes that are written to it, and calls full when
// there are more.
type limited struct {
	full func()
	text bytes.Buffer
	lost bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	room := min(len(p), maxOutput-l.text.Len())
	l.text.Write(p[:room])
	if room < len(p) {
		l.lost = true
		l.full()
	}
	return len(p), nil
}
