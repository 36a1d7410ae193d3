package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
)

// alone makes a command that has its connection's flags itself.
func alone(build func(*link) *cobra.Command) *cobra.Command {
	l := new(link)
	cmd := build(l)
	l.register(cmd.Flags())
	return cmd
}

// builders make the commands that work over one session.
var builders = []func(*link) *cobra.Command{newTools, newCall, newPort, newBatch, newWatch, newPing}

// sessionCommands returns the one-shot forms.
func sessionCommands() (list []*cobra.Command) {
	for _, build := range builders {
		list = append(list, alone(build))
	}
	return list
}

func newConnect() *cobra.Command {
	l := new(link)
	cmd := &cobra.Command{
		Use:   "connect [URL] [COMMAND]",
		Short: "Dial a peer, and show the session or run a command over it",
		Long: `connect dials a peer. Alone it shows the session: who the peer is and what was
negotiated. The commands are those of the same names without "connect". The URL and the
flags of the connection may stand before them or after.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			return l.with(cmd.Context(), l.session)
		},
	}
	l.register(cmd.PersistentFlags())
	for _, build := range builders {
		cmd.AddCommand(build(l))
	}
	return cmd
}

// urlFirst lets the URL of "connect URL COMMAND" stand where a command is looked for: it
// becomes the flag that it stands for.
func urlFirst(root *cobra.Command, args []string) []string {
	if len(args) > 2 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		last := len(args) - 1 // is being typed
		return slices.Concat(args[:1], urlFirst(root, args[1:last]), args[last:])
	}
	cmd, rest, err := root.Find(args[:min(1, len(args))])
	if err != nil || cmd.Name() != "connect" || len(rest) > 0 {
		return args
	}
	for i := 1; i < len(args); i++ {
		if isURL(args[i]) {
			return slices.Concat(args[:i], []string{"--url=" + args[i]}, args[i+1:])
		}
		if !strings.HasPrefix(args[i], "-") {
			break // a command and what is its
		}
		if _, takes := doubled(cmd.PersistentFlags(), args[i]); takes {
			i++ // the flag's value
		}
	}
	return args
}

// session shows what a session is.
func (l *link) session(a *connect.RemoteAdapter) error {
	if l.json {
		return l.line(map[string]any{
			"peer_id": a.RemotePeerID(), "host_id": a.RemoteManifest().HostID, "session_id": a.ID(),
			"negotiated": a.NegotiatedCapabilities(), "problems": len(a.RemoteManifestProblems()),
		})
	}
	return l.facts(
		[2]string{"peer id", string(a.RemotePeerID())},
		[2]string{"host id", a.RemoteManifest().HostID},
		[2]string{"session", a.ID()},
		[2]string{"negotiated", strings.Join(a.NegotiatedCapabilities(), ", ")},
	)
}

func newManifestShow(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "show [URL]",
		Short: "Show the manifest of a live peer",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			return l.with(cmd.Context(), l.show)
		},
	}
}

func (l *link) show(a *connect.RemoteAdapter) error {
	for _, p := range a.RemoteManifestProblems() {
		if err := l.complain(p.String()); err != nil {
			return err
		}
	}
	return l.document(a.RemoteManifestJSON())
}
