package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/termtext"
	"github.com/spoke-peer/spoke-go/connect"
)

func newWatch(l *link) *cobra.Command {
	var f offer
	most := 0
	cmd := &cobra.Command{
		Use:   "watch [URL]",
		Short: "Stay connected, offer tools and print each call of the peer's as it happens",
		Long: `watch dials a peer, offers the tools of --exec, and prints a line for each call that the
peer makes. It ends with the session, when interrupted, or after --calls calls. The peer
can call a tool only if its own manifest lists it as well.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			return l.watch(cmd.Context(), &f, most)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().IntVar(&most, "calls", 0, "end after so many calls; 0 does not")
	return cmd
}

func (l *link) watch(ctx context.Context, f *offer, most int) error {
	calls := make(chan call)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	base, err := l.ownManifest(nil, nil)
	if err != nil {
		return err
	}
	own, err := f.registry(base, nil, func(c call) {
		select {
		case calls <- c:
		case <-watching.Done():
		}
	})
	if err != nil {
		return err
	}
	adapter, err := l.open(ctx, own)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.err, "watching %s (%s)\n", adapter.RemotePeerID(), termtext.Line(adapter.RemoteManifest().HostID))
	err = l.follow(watching, adapter, calls, most)
	stop()
	adapter.Close()
	return errors.Join(err, ended(adapter.Wait()))
}

// follow prints calls until there is a reason to stop.
func (l *link) follow(ctx context.Context, a *connect.RemoteAdapter, calls <-chan call, most int) error {
	for n := 0; most == 0 || n < most; n++ {
		select {
		case c := <-calls:
			if err := l.called(c); err != nil {
				return err
			}
		case <-a.Done():
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func (l *link) called(c call) error {
	if l.json {
		return l.line(c)
	}
	_, err := fmt.Fprintf(l.out, "%s %s\n", c.Time.Local().Format(time.TimeOnly), termtext.Line(c.line()))
	return err
}

// ended is what the end of a session means: a goodbye is none.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return &connectError{err}
}
