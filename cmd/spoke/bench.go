package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/bench"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// benchFlags are the flags of spoke bench.
type benchFlags struct {
	link
	pair bool
	load bench.Load
	size int
	tool string
	args string
}

// echoTool is the tool of the pair's host, which returns its arguments.
const echoTool = "tools.spoke_bench.echo"

// envelopeBytes is about what a signed envelope has beside its payload.
const envelopeBytes = 320

func newBench() *cobra.Command {
	f := benchFlags{load: bench.Load{N: 20000, InFlight: 16}}
	cmd := &cobra.Command{
		Use:   "bench [URL]",
		Short: "Measure calls a second, beside what their signatures cost alone",
		Long: `bench calls a tool many times and prints calls a second and the time that half of them
and 99 of 100 took at most. --pair, the default, holds a session in this process, in
memory; a URL measures a session with a peer. Without --tool the requests to a peer are
for a tool that it does not have, which it refuses: any peer can be measured.

The floor is measured in the same run: two signs and two verifies for each call, of
messages as large, with as many at once, using this machine alone.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.link.register(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&f.pair, "pair", false, "measure two peers in this process")
	flags.IntVarP(&f.load.N, "calls", "n", f.load.N, "how many calls to make")
	flags.IntVarP(&f.load.InFlight, "concurrency", "c", f.load.InFlight, "how many calls are in flight")
	flags.IntVar(&f.size, "size", 64, "bytes of argument")
	flags.StringVar(&f.tool, "tool", "", "tool of the peer's to call; --size makes its argument \"data\"")
	flags.StringVar(&f.args, "args", "", "arguments of the tool as JSON, in place of --size bytes")
	cmd.MarkFlagsMutuallyExclusive("pair", "url")
	cmd.MarkFlagsMutuallyExclusive("pair", "tool")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command, args []string) error {
	f.of(cmd)
	if f.load.N < 1 || f.load.InFlight < 1 || f.size < 0 {
		return usagef("-n and -c are at least 1, --size at least 0")
	}
	if f.pair && len(args) > 0 {
		return usagef("--pair measures no URL")
	}
	if !f.pair {
		rest, err := f.begin(cmd, args)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return usagef("%q is not a URL", rest[0])
		}
	}
	payload, err := f.payload()
	if err != nil {
		return err
	}
	return f.measure(cmd.Context(), payload)
}

// payload is the arguments of each call.
func (f *benchFlags) payload() (json.RawMessage, error) {
	if f.args == "" {
		return json.Marshal(map[string]string{"data": strings.Repeat("x", f.size)})
	}
	if _, err := connect.Canonicalize(json.RawMessage(f.args)); err != nil {
		return nil, usagef("--args: %w", err)
	}
	return json.RawMessage(f.args), nil
}

// measure runs the session and then the floor.
func (f *benchFlags) measure(ctx context.Context, payload json.RawMessage) error {
	name, answer := "pair", len(payload)
	run := f.overPair
	if f.url != "" && !f.pair {
		name, run = f.url, f.overURL
		if f.tool == "" {
			answer = 0
		}
	}
	r, err := run(ctx, payload)
	if err != nil {
		return err
	}
	done := slow(f.output.err, "measuring the floor")
	floor, err := bench.Floor(ctx, f.load, envelopeBytes+len(payload), envelopeBytes+answer)
	done()
	if err != nil {
		return err
	}
	r.Name, r.Size, floor.Size = name, len(payload), len(payload)
	r.OfFloor, floor.OfFloor = r.PerSec/floor.PerSec, 1
	return f.report(r, floor)
}

func (f *benchFlags) report(results ...bench.Result) error {
	var rows [][]string
	for _, r := range results {
		if f.output.json {
			if err := f.line(r); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{
			r.Name, fmt.Sprint(r.N), fmt.Sprint(r.InFlight), fmt.Sprint(r.Size), fmt.Sprintf("%.0f", r.PerSec),
			fmt.Sprintf("%.3f", r.P50), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.0f%%", 100*r.OfFloor),
		})
	}
	if f.output.json {
		return nil
	}
	return f.table([]string{"WHAT", "CALLS", "IN FLIGHT", "BYTES", "PER SECOND", "P50 MS", "P99 MS", "OF FLOOR"}, rows)
}

// overURL measures a session with a peer.
func (f *benchFlags) overURL(ctx context.Context, payload json.RawMessage) (r bench.Result, err error) {
	var wants []string
	if f.tool != "" {
		wants = []string{f.tool}
	}
	err = f.with(ctx, func(a *connect.RemoteAdapter) error {
		r, err = f.calls(ctx, a.Session, f.tool, payload)
		if err != nil {
			return f.explained(err, a.Session, f.tool)
		}
		return nil
	}, wants...)
	return r, err
}

// overPair measures a session between two peers in this process.
func (f *benchFlags) overPair(ctx context.Context, payload json.RawMessage) (bench.Result, error) {
	app, host, err := newPair(ctx)
	if err != nil {
		return bench.Result{}, err
	}
	defer func() {
		app.Close()
		_, _ = app.Wait(), host.Wait() // both end by this side's close
	}()
	return f.calls(ctx, app.Session, echoTool, payload)
}

// calls makes the calls; without a tool they are refused.
func (f *benchFlags) calls(ctx context.Context, s *connect.Session, tool string, payload json.RawMessage) (bench.Result, error) {
	one := func(ctx context.Context, _ int) error {
		_, err := s.InvokeTool(ctx, tool, payload)
		return err
	}
	if tool == "" {
		one = func(ctx context.Context, _ int) error {
			_, err := roundTrip(ctx, s, payload)
			return err
		}
	}
	var done atomic.Int64
	stop := f.progress(&done)
	defer stop()
	return bench.Run(ctx, f.load, &done, one)
}

// progress says each second how far the calls are.
func (f *benchFlags) progress(done *atomic.Int64) (stop func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(patience)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(f.output.err, "%d of %d calls\n", done.Load(), f.load.N)
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-gone }
}

// newPair opens a session in memory; its host echoes.
func newPair(ctx context.Context) (*connect.RemoteAdapter, *connect.Responder, error) {
	me, err := connect.GenerateIdentity()
	if err != nil {
		return nil, nil, err
	}
	it, err := connect.GenerateIdentity()
	if err != nil {
		return nil, nil, err
	}
	m := baseManifest("spoke-bench", "spoke_bench")
	m.Capabilities = added(m.Capabilities, echoTool)
	near, far := connect.Pipe()
	type accepted struct {
		*connect.Responder
		error
	}
	host := make(chan accepted, 1)
	go func() {
		r, err := connect.Accept(ctx, far, connect.ResponderConfig{Config: connect.Config{
			Identity: it, Manifest: m, Allow: []connect.PeerID{me.PeerID()}, Tools: spoke.ToolHandlers{echoTool: echo},
		}})
		host <- accepted{r, err}
	}()
	app, err := connect.Dial(ctx, near, connect.DialConfig{Config: connect.Config{
		Identity: me, Manifest: m, Allow: []connect.PeerID{it.PeerID()},
	}, Remote: it.PeerID()})
	other := <-host
	if err := errors.Join(err, other.error); err != nil {
		return nil, nil, &connectError{err}
	}
	return app, other.Responder, nil
}

func echo(_ context.Context, args json.RawMessage) (any, error) { return args, nil }
