package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/termtext"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/manifest"
)

// completionTimeout is how long somebody at a shell is kept waiting.
const completionTimeout = 3 * time.Second

// completeCall asks the peer for its tools, and then for the flags of one.
func (l *link) completeCall(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	previous := ""
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "--") {
		previous = strings.TrimPrefix(args[n-1], "--")
	}
	if flag := cmd.Flags().Lookup(previous); flag != nil && flag.NoOptDefVal == "" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	line, err := readCall(cmd.Flags(), nil, args)
	if err != nil || line.apply(cmd.Flags()) != nil {
		return nil, none
	}
	if line.id == "" && strings.HasPrefix(toComplete, "-") {
		return flagNames(cmd.Flags()), none
	}
	if _, err := l.begin(cmd, line.urlArgs()); err != nil {
		return nil, none
	}
	l.timeout, l.wire = min(l.timeout, completionTimeout), false
	var found []string
	err = l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
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
	return append(flagNames(set.Flags), flagNames(cmd.Flags())...)
}

func flagNames(flags *pflag.FlagSet) (list []string) {
	flags.VisitAll(func(f *pflag.Flag) { list = append(list, "--"+f.Name+"\t"+f.Usage) })
	return list
}
