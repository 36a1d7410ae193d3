package remotetool

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/spoke-peer/spoke-go/tools"
)

// batchRun makes the calls of one batch.
type batchRun struct {
	provider  *Provider
	goOn      bool
	results   []byte
	made      int // results so far
	completed int // calls that were dispatched
	failures  int
}

// answerBatch answers tool.batch.
//
// Source: remote tool spec, section 6.
func (p *Provider) answerBatch(ctx context.Context, payload json.RawMessage) (string, json.RawMessage) {
	m, err := membersOf(payload)
	var calls []json.RawMessage
	if err != nil || len(m["calls"]) == 0 || m["calls"][0] != '[' || json.Unmarshal(m["calls"], &calls) != nil {
		return failed(errorf(CodeBatchPayloadInvalid, "the payload must have a list of calls"))
	}
	goOn := present(m["continueOnError"])
	if goOn != nil && goOn[0] != 't' && goOn[0] != 'f' {
		return failed(errorf(CodeBatchPayloadInvalid, "continueOnError must be true or false"))
	}
	if len(calls) < 1 || len(calls) > tools.MaxBatch {
		return failed(errorf(CodeBatchSizeInvalid, "a batch has 1 to %d calls, not %d", tools.MaxBatch, len(calls)))
	}
	b := &batchRun{provider: p, goOn: isTrue(goOn)}
	for i, item := range calls {
		if ctx.Err() != nil || b.failures > 0 && !b.goOn {
			break
		}
		b.item(ctx, i, item)
	}
	return TypeBatchResult, b.payload(len(calls))
}

// item makes one call and adds its result.
func (b *batchRun) item(ctx context.Context, i int, item json.RawMessage) {
	if b.made > 0 {
		b.results = append(b.results, ',')
	}
	b.made++
	b.results = strconv.AppendInt(appendName(append(b.results, '{'), "index"), int64(i), 10)
	if item[0] != '{' {
		b.fail("", errorf(CodeBatchCallInvalid, "a call must be an object"))
		return
	}
	b.completed++
	m, _ := membersOf(item)
	callID, _ := textOf(m["callId"])
	b.results = appendOptional(b.results, "callId", callID)
	c, fault := readCall(item)
	if fault == nil {
		var result []byte
		if result, fault = b.provider.run(ctx, c); fault == nil {
			b.results = append(append(append(b.results, ','), result...), '}')
			return
		}
	}
	id, _ := textOf(m["toolId"])
	b.fail(id, fault)
}

// fail ends an item that did not succeed.
func (b *batchRun) fail(toolID string, fault *Error) {
	b.failures++
	b.results = appendOptional(b.results, "toolId", toolID)
	b.results = appendText(appendBool(b.results, "success", false), "message", fault.Message)
	b.results = append(appendRaw(b.results, "error", fault.payload()), '}')
}

func (b *batchRun) payload(requested int) []byte {
	dst := appendBool([]byte{'{'}, "success", b.failures == 0 && b.made == requested)
	dst = strconv.AppendInt(appendName(dst, "completed"), int64(b.completed), 10)
	dst = strconv.AppendInt(appendName(dst, "requested"), int64(requested), 10)
	dst = appendBool(dst, "stoppedEarly", b.made < requested)
	dst = append(append(appendName(dst, "results"), '['), b.results...)
	return append(dst, ']', '}')
}
