package remotetool

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/tools"
)

// BatchResult is what became of a batch.
//
// Source: remote tool spec, section 6.
type BatchResult struct {
	Success bool
	// Completed is how many calls the peer made, failures included; Requested how many
	// it was asked for.
	Completed    int
	Requested    int
	StoppedEarly bool
	// Items has an entry for each call that was looked at, in the order of the calls.
	Items []BatchItem
}

// BatchItem is what became of one call: a result, or why there is none.
type BatchItem struct {
	Index  int
	CallID string
	Result *Result
	Err    *Error
}

// Batch makes 1 to 32 calls, one after the other, and returns what became of each. A
// failed call is an entry of the result and no error of the batch.
//
// Source: remote tool spec, section 6.
func (c *Client) Batch(ctx context.Context, calls []Call, mode tools.BatchMode) (*BatchResult, error) {
	if len(calls) < 1 || len(calls) > tools.MaxBatch {
		return nil, errorf(CodeBatchSizeInvalid, "a batch has 1 to %d calls, not %d", tools.MaxBatch, len(calls))
	}
	dst := append(appendName([]byte{'{'}, "calls"), '[')
	for i, call := range calls {
		payload, err := call.payload()
		if err != nil {
			return nil, err
		}
		if err := c.allowed(ctx, call); err != nil {
			return nil, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, payload...)
	}
	dst = append(appendBool(append(dst, ']'), "continueOnError", mode == tools.ContinueOnError), '}')
	got, err := c.request(ctx, TypeBatch, dst, TypeBatchResult, nil)
	if err != nil {
		return nil, err
	}
	return readBatch(got, len(calls))
}

// readBatch reads a batch's answer and holds its counts to each other.
func readBatch(payload json.RawMessage, asked int) (*BatchResult, error) {
	m, err := membersOf(payload)
	var items []json.RawMessage
	if err != nil || json.Unmarshal(m["results"], &items) != nil {
		return nil, errorf(CodeProtocol, "the answer to the batch cannot be read")
	}
	completed, _ := wholeOf(m["completed"])
	requested, _ := wholeOf(m["requested"])
	b := &BatchResult{
		Success: isTrue(m["success"]), StoppedEarly: isTrue(m["stoppedEarly"]),
		Completed: int(completed), Requested: int(requested),
	}
	if len(items) > asked || b.Requested != asked || b.Completed < 0 || b.Completed > len(items) ||
		b.StoppedEarly != (len(items) < asked) {
		return nil, errorf(CodeProtocol, "the counts of the batch's answer are wrong")
	}
	for i, item := range items {
		read, err := readItem(item)
		if err != nil || read.Index != i {
			return nil, errorf(CodeProtocol, "result %d of the batch cannot be read", i)
		}
		if read.Err != nil && b.Success {
			return nil, errorf(CodeProtocol, "a batch that failed says that it succeeded")
		}
		b.Items = append(b.Items, read)
	}
	return b, nil
}

func readItem(raw json.RawMessage) (BatchItem, error) {
	m, err := membersOf(raw)
	index, ok := wholeOf(m["index"])
	if err != nil || !ok {
		return BatchItem{}, errNotObject
	}
	item := BatchItem{Index: int(index)}
	item.CallID, _ = textOf(m["callId"])
	if isTrue(m["success"]) {
		item.Result, err = readResult(raw)
		return item, err
	}
	item.Err = readError(raw)
	return item, nil
}
