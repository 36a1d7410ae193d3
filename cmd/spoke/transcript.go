package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
)

func newTranscript() *cobra.Command {
	return family("transcript", "Record a session, or verify a recorded one", newRecord(), newReplay())
}

type recordFlags struct{ listen, dial, out string }

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Relay one session between a dialer and a responder and record it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address for the dialer to connect to")
	flags.StringVar(&f.dial, "dial", "", "URL of the responder")
	flags.StringVar(&f.out, "out", "", "file to write; it must not exist")
	for _, name := range []string{"dial", "out"} {
		_ = cmd.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	return cmd
}

// run records the first session that comes. Without a frame it leaves no file.
func (f *recordFlags) run(cmd *cobra.Command) (err error) {
	if err := checkURL(f.dial); err != nil {
		return usagef("--dial: %w", err)
	}
	door, err := openDoor(f.listen, recordAwait)
	if err != nil {
		return err
	}
	defer door.close()
	out, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	entries := 0
	defer func() {
		err = errors.Join(err, out.Close())
		if entries == 0 {
			err = errors.Join(err, os.Remove(f.out))
		}
	}()
	fmt.Fprintf(cmd.ErrOrStderr(), "waiting for a dialer at ws://%s\n", door.listener.Addr())
	err = f.relay(cmd.Context(), door, func(e transcript.Entry) error {
		entries++
		return transcript.Write(out, e)
	})
	fmt.Fprintf(cmd.OutOrStdout(), "%d frames recorded\n", entries)
	return err
}

// recordAwait is how long the recorder waits for a dialer.
const recordAwait = 10 * time.Minute

func (f *recordFlags) relay(ctx context.Context, door *door, record func(transcript.Entry) error) error {
	visitor, err := door.next(ctx)
	if err != nil {
		return err
	}
	defer visitor.Close()
	dialer, ok := visitor.(transcript.Carrier)
	if !ok {
		return errors.New("the connection does not tell binary messages from text")
	}
	responder, err := ws.Dial(ctx, f.dial, &ws.DialOptions{Header: http.Header{}})
	if err != nil {
		return &connectError{&advisedError{err, "see that the host runs and listens at " + f.dial}}
	}
	var kept error
	err = transcript.Relay(ctx, dialer, responder, func(e transcript.Entry) error {
		kept = record(e)
		return kept
	})
	if err != nil && kept == nil {
		return &connectError{err}
	}
	return err
}

type replayFlags struct {
	keys, seeds []string
	json        bool
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Verify every signature of a recorded session and sign it again",
		Long: `replay names every envelope of a transcript and verifies its signature. Envelopes of
peers whose keys are given are signed again, and the first byte that differs is shown.
The exit status is 1 when a signature does not verify, a byte differs, or a key belongs to
no peer of the transcript.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "private key file of a peer; may be given twice")
	cmd.Flags().StringArrayVar(&f.seeds, "seed", nil, "seed of a peer's key, 64 hex digits; may be given twice")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the report as one line of JSON")
	return cmd
}

func (f *replayFlags) run(cmd *cobra.Command, path string) error {
	identities, err := f.identities(cmd.Context())
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	entries, err := transcript.Read(file)
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	report := transcript.Replay(entries, identities...)
	return show(cmd.OutOrStdout(), report, report.OK, f.json)
}

func (f *replayFlags) identities(ctx context.Context) ([]*connect.Identity, error) {
	var list []*connect.Identity
	for _, path := range f.keys {
		id, err := loadKey(ctx, path)
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	for _, seed := range f.seeds {
		id, err := identityOfSeed(seed)
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, nil
}
