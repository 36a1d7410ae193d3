package bench

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
)

// Invoker is what runs a peer's tools, such as a session.
type Invoker interface {
	InvokeTool(ctx context.Context, id string, args any) (json.RawMessage, error)
}

// Invoke returns a call that runs the tool, in turn at each of the invokers: at both ends
// of one session, or at the near ends of many.
func Invoke(tool string, args json.RawMessage, at ...Invoker) Call {
	var next atomic.Uint64
	return func(ctx context.Context, _ int) error {
		_, err := at[next.Add(1)%uint64(len(at))].InvokeTool(ctx, tool, args)
		return err
	}
}

// Text returns arguments of about size bytes: an object with one string.
func Text(size int) json.RawMessage {
	return json.RawMessage(`{"data":"` + strings.Repeat("x", size) + `"}`)
}
