package remotetool

import (
	"context"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
)

// Kinds of messages, with the numbers that WebSocket has for them.
const (
	TextMessage   = 1
	BinaryMessage = 2
)

// Conn carries messages of two kinds, ordered and reliable. A *websocket.Conn of
// gorilla/websocket is one. ReadMessage and WriteMessage are called by one goroutine at
// a time each, Close by any; Close has to end pending calls.
//
// Where a Conn has SetReadLimit(int64), SetWriteDeadline(time.Time) error or
// WriteControl(kind int, data []byte, deadline time.Time) error as a *websocket.Conn
// has them, they are used.
type Conn interface {
	ReadMessage() (kind int, data []byte, err error)
	WriteMessage(kind int, data []byte) error
	Close() error
}

// OverTransport makes a Conn of any message transport, such as one end of
// [connect.Pipe]. Messages carry no kind there: one that begins as a frame of the binary
// stream does is binary, which no text can begin with.
func OverTransport(t connect.Transport) Conn { return &transportConn{transport: t} }

type transportConn struct {
	transport connect.Transport
	deadline  time.Time // the writer's alone
}

// ReadMessage implements [Conn].
func (c *transportConn) ReadMessage() (int, []byte, error) {
	data, err := c.transport.Recv(context.Background()) // Close ends it
	if len(data) >= len(frameMagic) && string(data[:len(frameMagic)]) == frameMagic {
		return BinaryMessage, data, err
	}
	return TextMessage, data, err
}

// WriteMessage implements [Conn].
func (c *transportConn) WriteMessage(_ int, data []byte) error {
	ctx, cancel := context.WithDeadline(context.Background(), c.deadline)
	if c.deadline.IsZero() {
		ctx = context.Background()
	}
	defer cancel()
	return c.transport.Send(ctx, data)
}

// SetWriteDeadline bounds later writes.
func (c *transportConn) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

// SetReadLimit hands the limit on to a transport that has one.
func (c *transportConn) SetReadLimit(limit int64) {
	if l, ok := c.transport.(connect.ReadLimiter); ok {
		l.SetReadLimit(int(limit))
	}
}

// Close implements [Conn].
func (c *transportConn) Close() error { return c.transport.Close() }
