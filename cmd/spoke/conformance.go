package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/conformance"
	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

// conformanceFlags are the flags of spoke conformance.
type conformanceFlags struct {
	vectors string
	groups  []string
	json    bool
	live    liveFlags
}

func newConformance() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run the test vectors, or judge a peer over a live connection",
		Long: `Without --dial or --listen, conformance runs the embedded test vectors against this
library, or those of a directory. With --dial it connects to a responder and judges it,
with --listen it waits for a dialer, which must connect again each time it is left, and
judges that. The exit status is 1 on any failure, and when rules were not run for lack of a
connection.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.vectors, "vectors", "", "run the vector files of this directory instead of the embedded ones")
	flags.StringSliceVar(&f.groups, "group", nil, "run only these groups")
	flags.BoolVar(&f.json, "json", false, "print the report as one line of JSON")
	f.live.register(flags)
	cmd.MarkFlagsMutuallyExclusive("dial", "listen", "vectors")
	cmd.MarkFlagsMutuallyExclusive("dial", "listen", "group")
	cmd.MarkFlagsMutuallyExclusive("dial", "await")
	return cmd
}

func (f *conformanceFlags) run(cmd *cobra.Command) error {
	if f.live.wanted() {
		j, done, err := f.live.judge(cmd)
		if err != nil {
			return err
		}
		defer done()
		return f.live.explained(j.run(cmd, f), j.Identity.PeerID())
	}
	if name := idle(cmd.Flags()); name != "" {
		return usagef("--%s is about a live peer: give --dial or --listen too", name)
	}
	files := f.files()
	if err := f.check(files); err != nil {
		return err
	}
	var done atomic.Int64
	stop := progress(cmd.ErrOrStderr(), func() string { return fmt.Sprintf("%d groups done", done.Load()) })
	report := conformance.Run(cmd.Context(), files, conformance.Options{
		Groups: f.groups, Progress: func(conformance.Group) { done.Add(1) },
	})
	stop()
	return f.show(cmd, report, report.OK)
}

// check looks for what the flags name.
func (f *conformanceFlags) check(files fs.FS) error {
	if _, err := fs.ReadDir(files, "."); err != nil {
		return usagef("--vectors %s: %w", f.vectors, err)
	}
	index, _ := vectors.ReadIndex(files) // one that is broken is in the report
	for _, group := range f.groups {
		_, err := fs.Stat(files, group+".json")
		if _, known := index.Groups[group]; err != nil && !known {
			return usagef("--group: no vectors for group %s", group)
		}
	}
	return nil
}

// show prints a report. What an interrupt cut short is none that counts.
func (f *conformanceFlags) show(cmd *cobra.Command, report textReport, ok bool) error {
	if err := show(cmd.OutOrStdout(), report, ok, f.json); err != nil {
		return err
	}
	return cmd.Context().Err()
}

func (f *conformanceFlags) files() fs.FS {
	if f.vectors != "" {
		return os.DirFS(f.vectors)
	}
	return vectors.Files()
}

// textReport is a report that people can read.
type textReport interface{ WriteText(io.Writer) error }

// show prints a report; one that is not ok ends the command.
func show(w io.Writer, report textReport, ok, asJSON bool) error {
	var err error
	if asJSON {
		err = (&output{out: w}).line(report)
	} else {
		err = report.WriteText(w)
	}
	if err != nil {
		return err
	}
	if !ok {
		return errReported
	}
	return nil
}
