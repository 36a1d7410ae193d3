package tools

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/spoke"
)

// MaxBatch is how many calls one batch may have.
const MaxBatch = 32

// BatchCall is one call of a [Batch].
type BatchCall struct {
	ID string
	// Args is as for [spoke.ToolInvoker].
	Args any
}

// BatchResult is what became of one call: canonical JSON, or why there is none.
type BatchResult struct {
	Result json.RawMessage
	Err    error
}

// BatchMode says what a failed call does to the calls after it.
type BatchMode int

const (
	// StopOnError leaves out the calls after the first that fails.
	StopOnError BatchMode = iota
	// ContinueOnError makes all calls.
	ContinueOnError
)

// Batch makes 1 to 32 calls on any invoker, one after the other, and returns their
// results in the same order. Results has an entry for each call that was made; when
// there are fewer than calls, the batch stopped early.
//
// A failed call is an entry with an error and no error of the batch. Batch itself fails
// with INVALID_INPUT for another number of calls, nothing made, and with INTERNAL_ERROR
// of kind canceled or timeout when ctx ended before the last call: it is looked at
// between calls, in either mode.
func Batch(ctx context.Context, invoker spoke.ToolInvoker, calls []BatchCall, mode BatchMode) ([]BatchResult, error) {
	if len(calls) < 1 || len(calls) > MaxBatch {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "a batch has 1 to %d calls, not %d", MaxBatch, len(calls)).
			WithDetail(spoke.DetailField, "calls")
	}
	results := make([]BatchResult, 0, len(calls))
	for _, call := range calls {
		if ctx.Err() != nil {
			return results, contextReject(ctx, "no time was left for the next call")
		}
		result, err := Orchestrate(ctx, invoker, call.ID, call.Args)
		results = append(results, BatchResult{result, err})
		if err != nil && mode != ContinueOnError {
			break
		}
	}
	return results, nil
}
