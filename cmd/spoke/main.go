// Command spoke is the command line of the library.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errReported ends a command whose output says already what went wrong.
var errReported = errors.New("failed")

// run runs one command line and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(doubleDashed(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case !errors.Is(err, errReported):
		fmt.Fprintln(stderr, "spoke:", err)
	}
	return 1
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "spoke",
		Short:         "Tools for SPOKE connect peers",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newConformance(), newTranscript())
	return root
}

var singleDashed = regexp.MustCompile(`^-[a-z][a-z-]+(=|$)`)

// doubleDashed lets long flags be written with one dash, as the go command's are.
func doubleDashed(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		if singleDashed.MatchString(arg) {
			arg = "-" + arg
		}
		out[i] = arg
	}
	return out
}
