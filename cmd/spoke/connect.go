package main

import (
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
negotiated. The commands are those of the same names without "connect", with the flags of
the connection before them.`,
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
