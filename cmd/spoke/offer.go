package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/exectool"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// offer is the commands that a command line offers as tools.
type offer struct {
	lines   []string
	timeout time.Duration
	grace   time.Duration // for calls that run at the end
	log     io.Writer     // for what the caller of a command is not told
	running *commands
	ending  atomic.Bool // what ends now is ended by this side
	cut     atomic.Bool // a call was, or more
}

const (
	defaultExecTimeout = 30 * time.Second
	defaultGrace       = 5 * time.Second
)

func (f *offer) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.lines, "exec", nil, "offer a command as a tool, tools.NAMESPACE.TOOL=COMMAND: JSON arguments on its stdin, JSON result on its stdout; may be given again")
	flags.DurationVar(&f.timeout, "exec-timeout", defaultExecTimeout, "how long a command may run; 0 for any time")
	flags.DurationVar(&f.grace, "grace", defaultGrace, "how long calls may go on after an interrupt")
}

// begin is before registry.
func (f *offer) begin(ctx context.Context, log io.Writer) { f.running, f.log = commandsOf(ctx), log }

// patience says what is waited for at the end.
func (f *offer) patience() string {
	return fmt.Sprintf("waiting up to %v for calls to finish; a second interrupt ends them", f.grace)
}

// tooLate is the error of calls that had to be ended.
func (f *offer) tooLate(err error) error {
	return fmt.Errorf("calls did not finish within %v and were ended: %w", f.grace, err)
}

// hasCut is the error of a side that has ended its sessions at once: nil if no call ran.
func (f *offer) hasCut() error {
	if !f.cut.Load() {
		return nil
	}
	return f.tooLate(context.DeadlineExceeded)
}

// call is what is said about one call of a tool of ours.
type call struct {
	Time   time.Time       `json:"time"`
	Peer   string          `json:"peer_id"`
	ID     string          `json:"id"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	MS     float64         `json:"ms"`
}

// registry holds the commands, described as m describes them, and the tools that come
// with it; note is told of each call that gates let through. A tool of m that nothing
// serves is an error.
func (f *offer) registry(m spoke.HostCapabilityManifest, builtin spoke.ToolHandlers, note func(call), gates ...tools.Middleware) (*tools.Registry, error) {
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Middleware: append(gates, f.noting(note))})
	served := make(map[string]*tools.Tool)
	for id, handler := range builtin {
		if d, ok := described(m, id); ok {
			served[id] = tools.Raw(d, handler)
		}
	}
	if f.timeout < 0 {
		return nil, usagef("--exec-timeout is at least 0, not %v", f.timeout)
	}
	commands, err := f.tools(m)
	if err != nil {
		return nil, usagef("--exec: %w", err)
	}
	maps.Copy(served, commands)
	for _, d := range m.Tools {
		if served[d.CapabilityID] == nil {
			return nil, usagef("the manifest offers %s and nothing serves it: add --exec '%s=COMMAND'", d.CapabilityID, d.CapabilityID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(served)) {
		if err := r.Register(served[id]); err != nil {
			return nil, &usageError{err}
		}
	}
	return r, nil
}

// tools are the commands as tools, by their ids.
func (f *offer) tools(m spoke.HostCapabilityManifest) (map[string]*tools.Tool, error) {
	list := make(map[string]*tools.Tool)
	for _, line := range f.lines {
		command, err := f.command(line)
		if err != nil {
			return nil, err
		}
		if list[command.ID] != nil {
			return nil, fmt.Errorf("%s has two commands", command.ID)
		}
		d, ok := described(m, command.ID)
		if !ok {
			d = descriptorOf(command.ID, "Runs "+command.Args[0]+".")
		}
		list[command.ID] = tools.Raw(d, f.running.counted(command.Run)).With(tools.Metadata{Timeout: f.timeout})
	}
	return list, nil
}

// command reads what is offered and sees that it can be run.
func (f *offer) command(line string) (exectool.Command, error) {
	c, err := exectool.Parse(line)
	if err != nil {
		return c, err
	}
	if err := c.Find(); err != nil {
		return c, fmt.Errorf("%s: %w", c.ID, err)
	}
	c.Failed = func(err error) {
		fmt.Fprintf(f.log, "%s could not be run: %s\n", c.ID, termtext.Line(err.Error()))
	}
	return c, nil
}

func described(m spoke.HostCapabilityManifest, id string) (spoke.ToolDescriptor, bool) {
	i := slices.IndexFunc(m.Tools, func(d spoke.ToolDescriptor) bool { return d.CapabilityID == id })
	if i < 0 {
		return spoke.ToolDescriptor{}, false
	}
	return m.Tools[i], true
}

// callOf is a call that begins.
func callOf(ctx context.Context, in *tools.Invocation) call {
	c := call{Time: time.Now().UTC(), ID: in.Tool.ID(), Args: in.Arguments}
	if caller, ok := spoke.CallerFromContext(ctx); ok {
		c.Peer = caller.PeerID
	}
	return c
}

// announcing tells announce of each call before it is made.
func announcing(announce func(call)) tools.Middleware {
	return func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, in *tools.Invocation) (json.RawMessage, error) {
			announce(callOf(ctx, in))
			return next(ctx, in)
		}
	}
}

// noting tells note of each call when it is over, and sees which are cut off.
func (f *offer) noting(note func(call)) tools.Middleware {
	return func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, in *tools.Invocation) (json.RawMessage, error) {
			started, c := time.Now(), callOf(ctx, in)
			result, err := next(ctx, in)
			if ctx.Err() != nil && f.ending.Load() {
				f.cut.Store(true)
			}
			c.Result, c.MS = result, float64(time.Since(started).Microseconds())/1000
			if err != nil {
				c.Error = err.Error()
			}
			note(c)
			return result, err
		}
	}
}

// begun is a call that has no outcome yet, for people.
func (c call) begun() string { return c.ID + " " + string(c.Args) }

// line is a call for people.
func (c call) line() string {
	text := c.begun() + " = "
	if c.Error != "" {
		return text + c.Error
	}
	return text + string(c.Result)
}
