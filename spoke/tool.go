package spoke

import (
	"context"
	"encoding/json"
)

// ToolInvoker runs tools by capability id: a local registry, one session, or a
// router over many sessions.
//
// Args is the tool's arguments: a [json.RawMessage] goes out as it is, anything else
// is marshalled, and nil means {}. The result is the tool's result as canonical
// JSON. A failure is a [*Reject]. Safe for concurrent use.
type ToolInvoker interface {
	InvokeTool(ctx context.Context, capabilityID string, args any) (json.RawMessage, error)
}

// ToolHandler serves one tool. Args is a JSON object in canonical form, already
// checked against the tool's descriptor; the handler may keep it. The result is
// anything that JSON can carry, a [json.RawMessage] as it is.
//
// A [*Reject] anywhere in the error's chain is what the caller sees; any other
// error is seen as INTERNAL_ERROR and its text stays on this side. Ctx ends when the
// session ends. Handlers of one session run concurrently; a goroutine serves several, one
// after the other, so a handler that locks its thread or labels its goroutine undoes that.
type ToolHandler func(ctx context.Context, args json.RawMessage) (any, error)

// ToolSource finds the handler that serves a tool. Implementations are safe for
// concurrent use; a session asks once per request.
type ToolSource interface {
	ToolHandler(capabilityID string) (ToolHandler, bool)
}

// ToolHandlers is a [ToolSource] over a map that nobody changes any more.
type ToolHandlers map[string]ToolHandler

// ToolHandler implements [ToolSource].
func (h ToolHandlers) ToolHandler(capabilityID string) (ToolHandler, bool) {
	handler, ok := h[capabilityID]
	return handler, ok && handler != nil
}
