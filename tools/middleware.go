package tools

import (
	"context"
	"encoding/json"
	"slices"
)

// Invocation is one call on its way to a tool. A middleware that wants to change it
// hands a changed copy on.
type Invocation struct {
	// Tool is what was called.
	Tool *Tool
	// Arguments is a JSON object in canonical form, not yet checked against the tool's
	// input.
	Arguments json.RawMessage

	ceiling Policy // of the registry's view that was called
	trace   *Trace // nil for none
}

// CallFunc serves calls of any tool. The result is canonical JSON; an error is what
// [New] makes of one. Ctx carries the caller ([spoke.CallerFromContext]) when the call
// came over a session, and what the session itself put there.
type CallFunc func(ctx context.Context, call *Invocation) (json.RawMessage, error)

// Middleware wraps every call of a registry, as net/http handlers are wrapped: it runs
// code before and after next, or answers without it. It sees calls before the guard
// judges them, and every refusal. A panic in it fails the call. What it answers in
// place of next is not checked against the tool's output.
type Middleware func(next CallFunc) CallFunc

// chain wraps last, the first middleware outermost.
func chain(last CallFunc, around []Middleware) CallFunc {
	for _, wrap := range slices.Backward(around) {
		last = wrap(last)
	}
	return last
}
