package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/toolflags"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

func newCall(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "call [URL] ID [JSON|-|@FILE|--ARGUMENT VALUE...]",
		Short: "Call a tool of a peer's",
		Long: `call runs a tool and prints its result. The arguments are a JSON object, "-" for stdin,
"@FILE" for a file, or flags: the tool's own input schema says which, and

  spoke call [URL] ID --help

shows them. Flags are checked before anything is sent; JSON is sent as it is. An argument
that has the name of one of the flags below is written --arg-NAME, or with as many arg-
as it takes to be a name of its own.`,
		// The flags depend on the tool, so that callLine reads them.
		DisableFlagParsing: true,
		ValidArgsFunction:  l.completeCall,
		RunE: func(cmd *cobra.Command, args []string) error {
			line, err := readCall(cmd.Flags(), nil, args)
			if err == nil {
				err = line.apply(cmd.Flags())
			}
			if err != nil {
				return &usageError{err}
			}
			return l.call(cmd, line, args)
		},
	}
}

// call runs a tool, or shows it. Words are those that the line was read from.
func (l *link) call(cmd *cobra.Command, line callLine, words []string) error {
	if line.id == "" && line.help {
		return cmd.Help()
	}
	if line.id == "" {
		return usagef("give the id of a tool; \"spoke tools\" lists them")
	}
	if _, err := l.begin(cmd, line.urlArgs()); err != nil {
		return err
	}
	if _, _, err := manifest.ParseToolID(line.id); err != nil {
		return &usageError{err}
	}
	document, err := documentOf(cmd, line)
	if err != nil {
		return err
	}
	return l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
		remote := a.RemoteManifest()
		d, known := manifest.FindTool(&remote, line.id)
		switch {
		case line.help && !known:
			return usagef("the peer does not offer %s", line.id)
		case document != nil && !line.help:
			return l.callOver(cmd, a, line.id, document)
		case known:
			return l.callFlags(cmd, a, d, line, words)
		case len(line.rest) > 0:
			return usagef("the peer does not describe this tool, so it has no flags; give its arguments as JSON")
		}
		return l.callOver(cmd, a, line.id, json.RawMessage("{}"))
	}, line.id)
}

// documentOf reads arguments that stand there as JSON, nil when they do not.
func documentOf(cmd *cobra.Command, line callLine) (json.RawMessage, error) {
	word, ok := line.document()
	if !ok || line.help {
		return nil, nil
	}
	return readDocument(cmd.InOrStdin(), word)
}

// callFlags reads the line again as the tool's flags make it, and runs or shows the tool.
func (l *link) callFlags(cmd *cobra.Command, a *connect.RemoteAdapter, d spoke.ToolDescriptor, line callLine, words []string) error {
	set := toolFlags(cmd, d)
	line, err := line.settle(cmd.Flags(), set.Flags, words)
	if err != nil {
		return badFlags(d, err)
	}
	if line.help {
		return l.toolHelp(cmd, d, set)
	}
	args, err := arguments(d, set, line.rest)
	if err != nil {
		return err
	}
	return l.callOver(cmd, a, d.CapabilityID, args)
}

func (l *link) callOver(cmd *cobra.Command, a *connect.RemoteAdapter, id string, args json.RawMessage) error {
	done := slow(l.err, "waiting for "+id)
	result, err := a.InvokeTool(cmd.Context(), id, args)
	done()
	if err != nil {
		return l.explained(err, a.Session, id)
	}
	return l.document(result)
}

// arguments reads the flags that stand after the id.
func arguments(d spoke.ToolDescriptor, set *toolflags.Set, rest []string) (json.RawMessage, error) {
	if err := set.Flags.Parse(rest); err != nil {
		return nil, badFlags(d, err)
	}
	if extra := set.Flags.Args(); len(extra) > 0 {
		return nil, usagef("%q is neither a flag of the tool nor its arguments alone", extra[0])
	}
	args, err := set.Arguments()
	if err != nil {
		return nil, err
	}
	return args, fit(d, args)
}

// fit holds arguments that were made of flags to the tool's schema. The peer judges
// what this side cannot.
func fit(d spoke.ToolDescriptor, args json.RawMessage) error {
	schemas, err := manifest.CompileTool(d, manifest.Peer)
	if err != nil {
		return nil
	}
	if err := schemas.ValidateArguments(args); err != nil {
		return badFlags(d, err)
	}
	return nil
}

func badFlags(d spoke.ToolDescriptor, err error) error {
	return &usageError{&advisedError{err, "\"spoke call " + d.CapabilityID + " --help\" shows the flags of the tool"}}
}

func toolFlags(cmd *cobra.Command, d spoke.ToolDescriptor) *toolflags.Set {
	return toolflags.New(d.Input, func(name string) bool {
		return name == "help" || cmd.Flags().Lookup(name) != nil
	})
}

// toolHelp shows a tool and its flags.
func (l *link) toolHelp(cmd *cobra.Command, d spoke.ToolDescriptor, set *toolflags.Set) error {
	fmt.Fprintf(l.out, "%s\n\nUsage:\n  spoke call [URL] %s [flags]\n", termtext.Line(d.Description), d.CapabilityID)
	if flags := set.Flags.FlagUsages(); flags != "" {
		fmt.Fprintf(l.out, "\nArguments of the tool:\n%s", flags)
	}
	_, err := fmt.Fprintf(l.out, "\nFlags of the connection:\n%s", cmd.Flags().FlagUsages())
	return err
}
