package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func newBatch(l *link) *cobra.Command {
	proceed := false
	cmd := &cobra.Command{
		Use:   "batch [URL] FILE",
		Short: "Make the calls of a file, one after the other",
		Long: `batch makes 1 to 32 calls over one session. FILE holds a JSON array of
{"id": TOOL, "args": OBJECT}; "-" is stdin. It stops at the first call that fails unless
--continue is given. The exit status is that of the last call that failed, as "spoke call"
has it: 1 if the peer refused it.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := l.begin(cmd, args)
			if err != nil {
				return err
			}
			if len(args) != 1 {
				return usagef("give one file of calls")
			}
			text, err := readInput(cmd.InOrStdin(), args[0])
			if err != nil {
				return &usageError{err}
			}
			calls, err := parseBatch(text)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return l.batch(cmd, calls, proceed)
		},
	}
	cmd.Flags().BoolVar(&proceed, "continue", false, "make the calls after one that fails")
	return cmd
}

func parseBatch(text []byte) ([]tools.BatchCall, error) {
	if _, err := connect.Canonicalize(text); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil || list == nil {
		return nil, errors.New("a batch is an array of {\"id\": TOOL, \"args\": OBJECT}")
	}
	if len(list) == 0 || len(list) > tools.MaxBatch {
		return nil, fmt.Errorf("a batch has 1 to %d calls, this one has %d", tools.MaxBatch, len(list))
	}
	calls := make([]tools.BatchCall, len(list))
	for i, call := range list {
		var err error
		if calls[i], err = parseBatchCall(call, fmt.Sprintf("call %d", i+1)); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// parseBatchCall reads one call, what says which.
func parseBatchCall(text json.RawMessage, what string) (c tools.BatchCall, err error) {
	call, err := members(text, what, "id", "args")
	if err != nil {
		return c, err
	}
	if c.ID, err = stringOf(call["id"], `"id" of `+what); err != nil {
		return c, err
	}
	if _, _, err := manifest.ParseToolID(c.ID); err != nil {
		return c, fmt.Errorf("%s: %w", what, err)
	}
	if args := call["args"]; args != nil {
		if _, err := members(args, `"args" of `+what); err != nil {
			return c, err
		}
		c.Args = args
	}
	return c, nil
}

func (l *link) batch(cmd *cobra.Command, calls []tools.BatchCall, proceed bool) error {
	mode := tools.StopOnError
	if proceed {
		mode = tools.ContinueOnError
	}
	var ids []string
	for _, call := range calls {
		ids = added(ids, call.ID)
	}
	return l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
		done := slow(l.err, fmt.Sprintf("making %d calls", len(calls)))
		results, err := tools.Batch(cmd.Context(), a, calls, mode)
		done()
		if err := l.results(calls, results); err != nil {
			return err
		}
		return err
	}, ids...)
}

// outcome is one call of a batch as JSON.
type outcome struct {
	ID     string          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Code   spoke.Code      `json:"code,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// results prints what became of the calls. The last failure decides the exit status.
func (l *link) results(calls []tools.BatchCall, results []tools.BatchResult) (failed error) {
	var rows [][]string
	for i, r := range results {
		o := outcome{ID: calls[i].ID, Result: r.Result}
		row := []string{o.ID, "ok", string(termtext.JSON(r.Result))}
		if r.Err != nil {
			failed = fmt.Errorf("call %d, %s: %w", i+1, o.ID, r.Err)
			o.Code, o.Error = spoke.CodeOf(r.Err), r.Err.Error()
			row[1], row[2] = string(o.Code), termtext.Line(o.Error)
		}
		rows = append(rows, row)
		if l.json {
			if err := l.line(o); err != nil {
				return err
			}
		}
	}
	if !l.json {
		if err := l.table([]string{"ID", "OUTCOME", "RESULT"}, rows); err != nil {
			return err
		}
	}
	if n := len(calls) - len(results); n > 0 {
		fmt.Fprintf(l.err, "%d calls were not made\n", n)
	}
	return failed
}
