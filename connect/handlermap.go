package connect

import (
	"sync"

	"github.com/spoke-peer/spoke-go/spoke"
)

// handlerMap is the registered tool handlers and, behind them, a source for the rest.
// Safe for concurrent use; the zero value has no handlers.
type handlerMap struct {
	next spoke.ToolSource // may be nil

	mu       sync.Mutex
	handlers map[string]spoke.ToolHandler
}

// register adds a handler or replaces the one of the same id.
func (m *handlerMap) register(capabilityID string, handler spoke.ToolHandler) error {
	if err := checkToolID(capabilityID); err != nil {
		return err
	}
	if handler == nil {
		return spoke.Rejectf(spoke.CodeInvalidInput, "tool %s: nil handler", capabilityID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.handlers == nil {
		m.handlers = make(map[string]spoke.ToolHandler)
	}
	m.handlers[capabilityID] = handler
	return nil
}

// ToolHandler implements [spoke.ToolSource].
func (m *handlerMap) ToolHandler(capabilityID string) (spoke.ToolHandler, bool) {
	m.mu.Lock()
	handler, ok := m.handlers[capabilityID]
	m.mu.Unlock()
	if ok || m.next == nil {
		return handler, ok
	}
	return m.next.ToolHandler(capabilityID)
}
