package main

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
)

func newPort(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "port [URL] OP [JSON|-|@FILE]",
		Short: "Invoke a port, or any other op, with a payload",
		Long: `port sends one request and prints the payload of the answer. OP is the op on the wire;
"port." in front of a port's name may be left out, as in "knowledge.get". Without a payload
it is {}. "-" reads the payload from stdin, "@FILE" from a file.`,
		Args:              cobra.RangeArgs(1, 3),
		ValidArgsFunction: cobra.FixedCompletions(connect.PortOps(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := l.begin(cmd, args)
			if err != nil {
				return err
			}
			if len(args) < 1 || len(args) > 2 {
				return usagef("give an op and its payload")
			}
			if !utf8.ValidString(args[0]) {
				return usagef("the op %q is not UTF-8", args[0])
			}
			payload, err := payloadOf(cmd, args[1:])
			if err != nil {
				return err
			}
			return l.port(cmd, opOf(args[0]), payload)
		},
	}
}

// payloadOf reads the JSON of an optional argument; {} when there is none.
func payloadOf(cmd *cobra.Command, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	return readDocument(cmd.InOrStdin(), args[0])
}

// opOf returns the op that a short name means.
func opOf(name string) string {
	if _, ok := connect.PortCapability("port." + name); ok {
		return "port." + name
	}
	return name
}

func (l *link) port(cmd *cobra.Command, op string, payload json.RawMessage) error {
	var wants []string
	if strings.HasPrefix(op, "tools.") {
		wants = []string{op}
	}
	return l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
		done := slow(l.err, "waiting for the answer of "+op)
		answer, err := a.Invoke(cmd.Context(), op, payload)
		done()
		if err != nil {
			return l.explained(err, a.Session, op)
		}
		return l.document(answer)
	}, wants...)
}
