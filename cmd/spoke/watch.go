package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// watchFlags are the flags of spoke watch.
type watchFlags struct {
	offer
	most       int
	wait, once bool
}

func newWatch(l *link) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [URL]",
		Short: "Stay connected, offer tools and print each call of the peer's as it happens",
		Long: `watch dials a peer, offers the tools of --exec, and prints two lines for each call that the
peer makes: one with an arrow as it begins, one with its outcome. With --json the first goes
to stderr, and the second is JSON. The peer can call a tool only if its own manifest lists
it as well.

When the session is lost it dials again, with growing delays, until it is interrupted or
has shown --calls calls. It gives up, with status 1, when another attempt would be in vain:
the peer speaks another version or has another key, or it hangs up time after time. The
first attempt has to succeed unless --wait is given, and with --once so has the only one.
Calls that run when it ends have --grace to finish. A second interrupt, or the end of its
terminal, ends it at once, with them and status 130.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			return l.watch(cmd.Context(), &f)
		},
	}
	f.register(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("wait", "once")
	return cmd
}

func (f *watchFlags) register(flags *pflag.FlagSet) {
	f.offer.register(flags)
	flags.IntVar(&f.most, "calls", 0, "end after so many calls; 0 does not")
	flags.BoolVar(&f.wait, "wait", false, "dial until the host is there")
	flags.BoolVar(&f.once, "once", false, "end with the first session")
}

// atMost lets so many calls through, any number when it is 0. The peer may make others
// before the session has ended.
func atMost(most int) tools.Middleware {
	var begun atomic.Int64
	return func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, in *tools.Invocation) (json.RawMessage, error) {
			if begun.Add(1) > int64(most) && most > 0 {
				return nil, spoke.Rejectf(spoke.CodeInternalError, "this peer is about to leave").WithKind(spoke.KindOverloaded)
			}
			return next(ctx, in)
		}
	}
}

// watch prints the calls of the peer's, of one session after the other.
func (l *link) watch(ctx context.Context, f *watchFlags) error {
	w := &watcher{link: l, flags: f, calls: make(chan seen)}
	w.running, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer w.stop()
	if err := w.prepare(ctx); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- w.redialer.Run(w.running) }()
	return settled(w.follow(ctx.Done(), over))
}

// follow prints calls until the redialer is over, and makes it end when it is time.
func (w *watcher) follow(interrupt <-chan struct{}, over <-chan error) error {
	var finishing sync.WaitGroup
	finish := sync.OnceFunc(func() { finishing.Go(w.finish) })
	for n := 1; ; {
		select {
		case c := <-w.calls:
			if err := w.called(c); err != nil {
				w.stop()
				<-over
				finishing.Wait()
				return err
			}
			if !c.over {
				continue
			}
			if n++; n > w.flags.most && w.flags.most > 0 {
				finish()
			}
		case <-interrupt:
			interrupt = nil
			finish()
		case err := <-over:
			finishing.Wait()
			return w.verdict(err)
		}
	}
}

// called prints a call: as it begins, an arrow before it, and with its outcome. JSON is
// of outcomes only.
func (l *link) called(c seen) error {
	if l.json && c.over {
		return l.line(c.call)
	}
	out, text := l.out, c.line()
	if !c.over {
		text = "→ " + c.begun()
	}
	if l.json {
		out = l.err
	}
	_, err := fmt.Fprintf(out, "%s %s\n", c.Time.Local().Format(time.TimeOnly), termtext.Line(text))
	return err
}

// ended is what the end of a session means: a goodbye is none.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return &connectError{err}
}
