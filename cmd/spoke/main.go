// Command spoke is the command line of the library.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, interrupt := context.WithCancel(context.Background())
	running := newCommands()
	go obey(signals(), interrupt, running)
	os.Exit(run(withCommands(ctx, running), os.Args[1:], os.Stdout, os.Stderr))
}

// signals are those that end the program.
func signals() chan os.Signal {
	come := make(chan os.Signal, 2)
	signal.Notify(come, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(come, syscall.SIGHUP)
	}
	return come
}

// obey interrupts the work at the first signal and ends the program at the second, or
// when its terminal is gone: with the commands that run, which are in groups that no
// signal of a terminal reaches. A third one does not wait for them.
func obey(come chan os.Signal, interrupt func(), running *commands) {
	if <-come != syscall.SIGHUP {
		interrupt()
		<-come
	}
	signal.Stop(come)
	running.kill()
	explain(os.Stderr, &interruptedError{})
	os.Exit(statusInterrupted)
}

// run runs one command line and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetOut(stdout)
	root.SetErr(stderr)
	strictHelp(root)
	started := false
	noteStart(root, &started)
	root.SetArgs(urlFirst(root, doubleDashed(root, args)))
	root.SetIn(&stdin{ctx, os.Stdin})
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		err = &usageError{err} // a command line that cobra refuses
	}
	err = interrupted(ctx, err)
	if _, stopped := errors.AsType[*interruptedError](err); stopped || err != nil && !errors.Is(err, errReported) {
		explain(stderr, err)
	}
	return statusOf(err)
}

// noteStart sets started when a command of the tree begins its own work.
func noteStart(cmd *cobra.Command, started *bool) {
	if work := cmd.RunE; work != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return work(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		noteStart(child, started)
	}
}

// version is that of the module that the command was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "spoke",
		Short: "See, try and debug SPOKE connect peers",
		Long: `spoke shows, tries and debugs SPOKE connect peers without writing code.

Exit status: 0 success; 1 the peer refused, or a check failed; 2 the command line or a
setting is wrong; 3 could not connect, or the connection was lost; 4 a wait timed out;
5 the output could not be written; 130 interrupted.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newKeygen(), newID(), newManifest(), newServe(), newConnect())
	root.AddCommand(sessionCommands()...)
	root.AddCommand(newBench(), newConformance(), newTranscript())
	return root
}
