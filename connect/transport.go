package connect

import "context"

// Transport carries frames between two peers: ordered, reliable, in both directions,
// one frame per message. It supplies no trust. The WebSocket transport is in package
// ws; [Pipe] is one in memory.
//
// A session calls Send from one goroutine at a time and Recv from one goroutine at a
// time, and Close from any. Contexts may be ignored as long as Close ends pending
// calls: a session always closes the transport when it ends a context.
type Transport interface {
	// Send writes one frame. It does not keep frame after it returned. After an
	// error the session is over.
	Send(ctx context.Context, frame []byte) error
	// Recv returns the next frame, which belongs to the caller: who else reads it later
	// may see the caller's changes.
	Recv(ctx context.Context) ([]byte, error)
	// Close ends the transport and makes pending and later calls fail. Calling it
	// again does nothing.
	Close() error
}

// ReadLimiter is a [Transport] that can refuse a large frame before it is in memory.
// A session sets the limit between two calls of Recv: first the handshake's, then the
// session's.
type ReadLimiter interface {
	SetReadLimit(bytes int)
}

// RoomChecker is a [Transport] that can tell whether a Send of so many bytes returns at
// once. If so, a session sends from the caller's goroutine; else from one of its own, so
// that a caller whose context ends is not held by a peer that does not read. HasRoom is
// called by the one who may call Send.
type RoomChecker interface {
	HasRoom(bytes int) bool
}

// Finisher is a [Transport] that can end so that what was sent before still arrives: it
// tells the peer and waits for a moment until the peer has read. A session that this
// side ends on purpose calls it in place of Close.
type Finisher interface {
	Finish() error
}

// finish ends a transport, gently if it can.
func finish(t Transport) {
	if finisher, ok := t.(Finisher); ok {
		_ = finisher.Finish()
		return
	}
	_ = t.Close()
}

// Postponer is a [Transport] that can tell the peer to come back later. A [Server] that
// has no place for a peer calls it in place of Close, so that the peer can tell that
// from a refusal.
type Postponer interface {
	Postpone() error
}

// closeFor ends the transport of a handshake that failed.
func closeFor(failure *HandshakeError, t Transport) {
	if postponer, ok := t.(Postponer); ok && failure.passes() {
		_ = postponer.Postpone()
		return
	}
	_ = t.Close()
}

func limitReads(t Transport, bytes int) {
	if limiter, ok := t.(ReadLimiter); ok {
		limiter.SetReadLimit(bytes)
	}
}
