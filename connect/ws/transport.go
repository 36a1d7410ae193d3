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
	return t.SendMessage(ctx, frame, true)
}

// SendMessage is Send for a relay, which keeps the kind of a message that it passes on.
func (t *Transport) SendMessage(ctx context.Context, frame []byte, binary bool) error {
	deadline, _ := ctx.Deadline() // none lifts that of an earlier Send
	if err := t.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	kind := websocket.TextMessage
	if binary {
		kind = websocket.BinaryMessage
	}
	return t.conn.WriteMessage(kind, frame)
}

// Recv returns the payload of the next binary or text message. A peer that said
// goodbye is told as io.EOF.
func (t *Transport) Recv(ctx context.Context) ([]byte, error) {
	frame, _, err := t.RecvMessage(ctx)
	return frame, err
}

// RecvMessage is Recv for a relay: it also tells a binary message from a text message.
func (t *Transport) RecvMessage(context.Context) (frame []byte, binary bool, err error) {
	kind, frame, err := t.conn.ReadMessage()
	if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived) {
		return nil, false, io.EOF
	}
	if errors.Is(err, websocket.ErrReadLimit) {
		return nil, false, fmt.Errorf("%w: %w", connect.ErrMalformedFrame, err)
	}
	return frame, kind == websocket.BinaryMessage, err
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
