package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// pingOp is a tool that no peer has: any peer answers it with a signed refusal.
const pingOp = "tools.spoke.probe"

func newPing(l *link) *cobra.Command {
	count := 3
	cmd := &cobra.Command{
		Use:   "ping [URL]",
		Short: "Measure round trips of signed requests",
		Long: `ping sends requests for a tool that no peer has and measures the time until the signed
refusal is there: it works with every peer, and an answer proves that the peer has its key.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			if count < 1 {
				return usagef("--count is at least 1")
			}
			return l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
				return l.ping(cmd.Context(), a, count)
			})
		},
	}
	cmd.Flags().IntVarP(&count, "count", "n", count, "how many requests to send")
	return cmd
}

func (l *link) ping(ctx context.Context, a *connect.RemoteAdapter, count int) error {
	for i := range count {
		done := slow(l.err, "waiting for the answer")
		took, err := roundTrip(ctx, a.Session, nil)
		done()
		if err != nil {
			return err
		}
		if err := l.pong(i+1, took); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) pong(n int, took time.Duration) error {
	if l.json {
		return l.line(map[string]any{"n": n, "ms": float64(took.Microseconds()) / 1000})
	}
	_, err := fmt.Fprintf(l.out, "answer %d in %.1f ms\n", n, float64(took.Microseconds())/1000)
	return err
}

// roundTrip takes the time of one request that is refused.
func roundTrip(ctx context.Context, invoker spoke.ToolInvoker, args any) (time.Duration, error) {
	started := time.Now()
	_, err := invoker.InvokeTool(ctx, pingOp, args)
	took := time.Since(started)
	if reject, ok := errors.AsType[*spoke.Reject](err); ok && reject.Remote() {
		return took, nil
	}
	return took, err
}
