package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/termtext"
	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/toolflags"
	"github.com/spoke-peer/spoke-go/connect"
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
			line, err := readCall(cmd.Flags(), args)
			if err != nil {
				return &usageError{err}
			}
			return l.call(cmd, line)
		},
	}
}

// callLine is the command line of a call.
type callLine struct {
	url, id string
	rest    []string // the arguments of the tool
	help    bool
}

// readCall sets the connection's flags, wherever they stand, and tells the rest apart.
func readCall(known *pflag.FlagSet, args []string) (line callLine, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--help" || arg == "-h" {
			line.help = true
			continue
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flag := known.Lookup(name)
		if !strings.HasPrefix(arg, "--") || flag == nil {
			if err := line.take(arg); err != nil {
				return line, err
			}
			continue
		}
		switch {
		case inline:
		case flag.NoOptDefVal != "":
			value = flag.NoOptDefVal
		case i+1 == len(args):
			return line, fmt.Errorf("flag needs an argument: --%s", name)
		default:
			i++
			value = args[i]
		}
		if err := known.Set(name, value); err != nil {
			return line, err
		}
	}
	return line, nil
}

// take adds a word that is not of the connection.
func (c *callLine) take(word string) error {
	switch {
	case c.id != "":
		c.rest = append(c.rest, word)
	case strings.HasPrefix(word, "-"):
		return fmt.Errorf("unknown flag %s: the arguments of a tool stand after its id", word)
	case c.url == "" && isURL(word):
		c.url = word
	default:
		c.id = word
	}
	return nil
}

// urlArgs is the URL as an argument list.
func (c callLine) urlArgs() []string {
	if c.url == "" {
		return nil
	}
	return []string{c.url}
}

func (l *link) call(cmd *cobra.Command, line callLine) error {
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
	return l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
		return l.callOver(cmd, a, line)
	}, line.id)
}

func (l *link) callOver(cmd *cobra.Command, a *connect.RemoteAdapter, line callLine) error {
	remote := a.RemoteManifest()
	d, known := manifest.FindTool(&remote, line.id)
	if line.help {
		return l.toolHelp(cmd, d, known, line.id)
	}
	args, err := l.arguments(cmd, d, known, line.rest)
	if err != nil {
		return err
	}
	done := slow(l.err, "waiting for "+line.id)
	result, err := a.InvokeTool(cmd.Context(), line.id, args)
	done()
	if err != nil {
		return l.explained(err, a.Session, line.id)
	}
	return l.document(result)
}

// arguments reads what stands after the id.
func (l *link) arguments(cmd *cobra.Command, d spoke.ToolDescriptor, known bool, rest []string) (json.RawMessage, error) {
	if len(rest) == 1 && !strings.HasPrefix(rest[0], "--") {
		return readDocument(cmd.InOrStdin(), rest[0])
	}
	if len(rest) == 0 && !known {
		return json.RawMessage("{}"), nil
	}
	if !known {
		return nil, usagef("the peer does not describe this tool, so it has no flags; give its arguments as JSON")
	}
	set := toolFlags(cmd, d)
	if err := set.Flags.Parse(rest); err != nil {
		return nil, &usageError{&advisedError{err, "\"spoke call " + d.CapabilityID + " --help\" shows the flags of the tool"}}
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
		return &usageError{&advisedError{err, "\"spoke call " + d.CapabilityID + " --help\" shows the flags of the tool"}}
	}
	return nil
}

func toolFlags(cmd *cobra.Command, d spoke.ToolDescriptor) *toolflags.Set {
	return toolflags.New(d.Input, func(name string) bool {
		return name == "help" || cmd.Flags().Lookup(name) != nil
	})
}

// toolHelp shows a tool and its flags.
func (l *link) toolHelp(cmd *cobra.Command, d spoke.ToolDescriptor, known bool, id string) error {
	if !known {
		return usagef("the peer does not offer %s", id)
	}
	fmt.Fprintf(l.out, "%s\n\nUsage:\n  spoke call [URL] %s [flags]\n", termtext.Line(d.Description), id)
	if flags := toolFlags(cmd, d).Flags.FlagUsages(); flags != "" {
		fmt.Fprintf(l.out, "\nArguments of the tool:\n%s", flags)
	}
	_, err := fmt.Fprintf(l.out, "\nFlags of the connection:\n%s", cmd.Flags().FlagUsages())
	return err
}
