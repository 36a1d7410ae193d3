package spoke

import "context"

// Caller says on whose behalf a handler runs: the authenticated peer id of the other
// side and the id of its session. Both are "" where nobody called over a session.
type Caller struct {
	PeerID    string
	SessionID string
}

type callerKey struct{}

// WithCaller returns a context that carries the caller. A session hands such a context
// to every handler.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFromContext returns the caller that ctx carries, false when it carries none.
func CallerFromContext(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
