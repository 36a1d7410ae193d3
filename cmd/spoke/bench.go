package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/manifest"
)

// benchFlags are the flags of spoke bench.
type benchFlags struct {
	link
	pair bool
	over string // the pair's transport
	load bench.Load
	size int
	tool string
	args string
}

func newBench() *cobra.Command {
	f := benchFlags{over: overWebSocket, load: bench.Load{N: 20000, InFlight: 16}}
	cmd := &cobra.Command{
		Use:   "bench [URL]",
		Short: "Measure calls a second, beside what their signatures cost alone",
		Long: `bench calls a tool many times and prints calls a second and the time that half of them
and 99 of 100 took at most. A URL, as an argument, of --url, SPOKE_URL or a profile,
measures a session with a peer, such as a "spoke serve". Without --tool the requests to a
peer are for ` + pingOp + `, which no peer has and each refuses with a signed answer: any
peer can be measured. Without a URL, or with --pair whatever the settings say, the session
is one in this process: over a WebSocket on the loopback, or with --transport pipe, which
means --pair as well, in memory, which leaves the network out.

The floor is measured in the same run, in turns with the calls: two signs and two
verifications for each call, of messages as large, with as many at once, using this
machine alone. OF FLOOR is the median of these turns. BYTES is --size, or the length of
--args.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.link.register(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&f.pair, "pair", false, "measure two peers in this process, whatever URL the settings have")
	flags.StringVar(&f.over, "transport", f.over, "what is between the pair: ws or pipe; measures the pair")
	flags.IntVarP(&f.load.N, "calls", "n", f.load.N, "how many calls to make")
	flags.IntVarP(&f.load.InFlight, "concurrency", "c", f.load.InFlight, "how many calls are in flight")
	flags.IntVar(&f.size, "size", 64, "bytes of text in the argument, {\"data\": TEXT}")
	flags.StringVar(&f.tool, "tool", "", "tool of the peer's to call")
	flags.StringVar(&f.args, "args", "", "arguments of the tool as JSON, in place of --size bytes")
	cmd.MarkFlagsMutuallyExclusive("pair", "url")
	cmd.MarkFlagsMutuallyExclusive("pair", "tool")
	cmd.MarkFlagsMutuallyExclusive("transport", "url")
	cmd.MarkFlagsMutuallyExclusive("transport", "tool")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command, args []string) error {
	f.of(cmd)
	if f.load.N < 1 || f.load.InFlight < 1 || f.size < 0 {
		return usagef("-n and -c are at least 1, --size at least 0")
	}
	if f.tool != "" {
		if _, _, err := manifest.ParseToolID(f.tool); err != nil {
			return usagef("--tool: %w", err)
		}
	}
	if f.over != overWebSocket && f.over != overPipe {
		return usagef("--transport is ws or pipe, not %q", f.over)
	}
	f.pair = f.pair || cmd.Flags().Changed("transport")
	if len(args) > 0 && f.pair {
		return usagef("--pair and --transport measure no URL")
	}
	if err := f.choose(cmd, args); err != nil {
		return err
	}
	payload, err := f.payload()
	if err != nil {
		return err
	}
	return f.measure(cmd.Context(), payload)
}

// choose finds out what is measured: a URL if there is one, else the pair.
func (f *benchFlags) choose(cmd *cobra.Command, args []string) error {
	if f.pair {
		return nil // the settings are about peers
	}
	if err := f.beginAlone(cmd, args); err != nil {
		return err
	}
	f.pair = f.url == ""
	if f.pair && f.tool != "" {
		return usagef("--tool is a tool of a peer's: give the URL of the peer, --url, SPOKE_URL or a profile")
	}
	return nil
}

// payload is the arguments of each call.
func (f *benchFlags) payload() (json.RawMessage, error) {
	if f.args == "" {
		return bench.Text(f.size), nil
	}
	if _, err := connect.Canonicalize(json.RawMessage(f.args)); err != nil {
		return nil, usagef("--args: %w", err)
	}
	return json.RawMessage(f.args), nil
}

// measure runs the session and the floor.
func (f *benchFlags) measure(ctx context.Context, payload json.RawMessage) error {
	name, answer := "pair/"+f.over, len(payload)
	run := f.overPair
	if !f.pair {
		name, run = f.url, f.overURL
		if f.tool == "" {
			answer = 0
		}
	}
	signatures, err := bench.Floor(bench.Envelope+len(payload), bench.Envelope+answer)
	if err != nil {
		return err
	}
	contest := bench.Contest{Load: f.load, Floor: signatures}
	r, floor, err := run(ctx, payload, contest)
	if err != nil {
		return err
	}
	size := f.size
	if f.args != "" {
		size = len(payload)
	}
	r.Name, r.Size = name, size
	floor.Name, floor.Size = "ed25519 floor", size
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
func (f *benchFlags) overURL(ctx context.Context, payload json.RawMessage, c bench.Contest) (r, floor bench.Result, err error) {
	var wants []string
	if f.tool != "" {
		wants = []string{f.tool}
	}
	err = f.with(ctx, func(a *connect.RemoteAdapter) error {
		c.Work = bench.Invoke(f.tool, payload, a)
		if f.tool == "" {
			c.Work = refused(a.Session, payload)
		}
		if r, floor, err = f.calls(ctx, c); err != nil {
			return f.explained(err, a.Session, f.tool)
		}
		return nil
	}, wants...)
	return r, floor, err
}

// refused returns a call that the peer refuses.
func refused(s *connect.Session, payload json.RawMessage) bench.Call {
	return func(ctx context.Context, _ int) error {
		_, err := roundTrip(ctx, s, payload)
		return err
	}
}

// overPair measures a session between two peers in this process.
func (f *benchFlags) overPair(ctx context.Context, payload json.RawMessage, c bench.Contest) (r, floor bench.Result, err error) {
	p, err := openPair(ctx, f.over, len(payload))
	if err != nil {
		return r, floor, err
	}
	defer p.close()
	c.Work = bench.Invoke(echoTool, payload, p.app)
	return f.calls(ctx, c)
}

// calls makes the calls and tells of their progress.
func (f *benchFlags) calls(ctx context.Context, c bench.Contest) (r, floor bench.Result, err error) {
	c.Done = new(atomic.Int64)
	stop := progress(f.output.err, func() string { return fmt.Sprintf("%d of %d calls", c.Done.Load(), f.load.N) })
	defer stop()
	return c.Run(ctx)
}
