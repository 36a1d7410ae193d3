package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/spoke-peer/spoke-go/connect"
)

// closeGrace bounds the goodbye of a closing connection.
const closeGrace = time.Second

// Transport is a WebSocket connection as a [connect.Transport]. Send is called by one
// goroutine at a time and Recv by one; Close by any.
type Transport struct {
	conn *websocket.Conn
	once sync.Once
}

var (
	_ connect.Transport   = (*Transport)(nil)
	_ connect.ReadLimiter = (*Transport)(nil)
)

// New returns a transport over an established connection, which it takes over.
func New(conn *websocket.Conn) *Transport {
	return &Transport{conn: conn}
}

// Send writes one binary message. A deadline of ctx bounds the write; a session also
// closes the transport when a write takes too long.
func (t *Transport) Send(ctx context.Context, frame []byte) error {
	deadline, _ := ctx.Deadline() // none lifts that of an earlier Send
	if err := t.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	return t.conn.WriteMessage(websocket.BinaryMessage, frame)
}

// Recv returns the payload of the next binary or text message. A peer that said
// goodbye is told as io.EOF.
func (t *Transport) Recv(context.Context) ([]byte, error) {
	_, frame, err := t.conn.ReadMessage()
	if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived) {
		return nil, io.EOF
	}
	if errors.Is(err, websocket.ErrReadLimit) {
		return nil, fmt.Errorf("%w: %w", connect.ErrMalformedFrame, err)
	}
	return frame, err
}

// SetReadLimit implements [connect.ReadLimiter]; a larger message ends the connection.
func (t *Transport) SetReadLimit(bytes int) { t.conn.SetReadLimit(int64(bytes)) }

// Close says goodbye, without waiting for a write that is stuck, and closes the
// connection.
func (t *Transport) Close() error {
	var err error
	t.once.Do(func() {
		goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = t.conn.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(closeGrace))
		err = t.conn.Close()
	})
	return err
}
