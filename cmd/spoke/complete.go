package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/manifest"
)

// completionTimeout is how long somebody at a shell is kept waiting.
const completionTimeout = 3 * time.Second

// completeCall asks the peer for its tools, and then for the flags of one. Whatever it
// waits for, be it a file, the shell gets nothing when it takes too long.
func (l *link) completeCall(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	type answer struct {
		list      []string
		directive cobra.ShellCompDirective
	}
	found := make(chan answer, 1)
	go func() {
		list, directive := l.completion(ctx, cmd, args, toComplete)
		found <- answer{list, directive}
	}()
	select {
	case a := <-found:
		return a.list, a.directive
	case <-ctx.Done():
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (l *link) completion(ctx context.Context, cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	previous := ""
	if n := len(args); n > 0 {
		if name, _, inline := longFlag(args[n-1]); !inline {
			previous = name
		}
	}
	if flag := cmd.Flags().Lookup(previous); flag != nil && flag.NoOptDefVal == "" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	line, err := readCall(cmd.Flags(), nil, args)
	if err != nil || line.apply(cmd.Flags()) != nil {
		return nil, none
	}
	if line.id == "" && strings.HasPrefix(toComplete, "-") {
		return nil, none // the connection's, which cobra lists
	}
	if _, err := l.begin(cmd, line.urlArgs()); err != nil {
		return nil, none
	}
	l.err, l.wire, l.unattended = io.Discard, false, true
	var found []string
	err = l.with(ctx, func(a *connect.RemoteAdapter) error {
		found = candidates(cmd, a, line.id, previous)
		return nil
	})
	if err != nil {
		return nil, none
	}
	return found, none
}

// candidates are tools, or flags of the tool, or values of its last flag.
func candidates(cmd *cobra.Command, a *connect.RemoteAdapter, id, flag string) (list []string) {
	if id == "" {
		for _, d := range a.RemoteTools() {
			list = append(list, d.CapabilityID+"\t"+termtext.Line(d.Description))
		}
		return list
	}
	remote := a.RemoteManifest()
	d, ok := manifest.FindTool(&remote, id)
	if !ok {
		return nil
	}
	set := toolFlags(cmd, d)
	if f := set.Flags.Lookup(flag); f != nil && f.NoOptDefVal == "" {
		return set.Choices(flag)
	}
	return flagNames(set.Flags) // cobra lists the connection's
}

func flagNames(flags *pflag.FlagSet) (list []string) {
	flags.VisitAll(func(f *pflag.Flag) { list = append(list, "--"+f.Name+"\t"+f.Usage) })
	return list
}
