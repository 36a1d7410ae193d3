package ws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	conn  *websocket.Conn
	in    *inbox // nil if another opened the connection
	out   ledger
	pulse pulse
	once  sync.Once
	err   error // of closing
}

var (
	_ connect.Transport   = (*Transport)(nil)
	_ connect.ReadLimiter = (*Transport)(nil)
	_ connect.Finisher    = (*Transport)(nil)
	_ connect.Postponer   = (*Transport)(nil)
	_ connect.RoomChecker = (*Transport)(nil)
)

// New returns a transport over an established connection, which it takes over. It
// pings its peer at the default interval; see [DialOptions]. It reads and writes each
// message by itself, so [Dial] and [Upgrade] make faster ones.
func New(conn *websocket.Conn) *Transport { return newTransport(conn, 0) }

func newTransport(conn *websocket.Conn, interval time.Duration) *Transport {
	t := &Transport{conn: conn, out: ledgerOf(conn.NetConn())}
	if c := batchConnOf(conn.NetConn()); c != nil {
		t.in = &c.in
	}
	t.pulse.start(conn, interval, t.out)
	return t
}

// Conn returns the connection, for a protocol that is not SPOKE. It takes the place of
// the transport, which must not be used any more. What its NetConn returns has a NetConn
// of its own, for the network's connection or that of TLS.
func (t *Transport) Conn() *websocket.Conn { return t.conn }

// Send writes one binary message. A small one may be written a moment after Send has
// returned, together with others that come close upon it; if that fails, Recv or the next
// Send says so. A deadline of ctx bounds the call; a session also closes the transport
// when one takes too long.
func (t *Transport) Send(ctx context.Context, frame []byte) error {
	return t.SendMessage(ctx, frame, true)
}

// HasRoom implements [connect.RoomChecker]. It is true for short messages unless the peer
// reads so little that kilobytes wait to be written; after [New], on a socket of a Unix
// system that can be written to.
func (t *Transport) HasRoom(bytes int) bool { return t.out.hasRoom(bytes) }

// SendMessage is Send for a relay, which keeps the kind of a message that it passes on.
func (t *Transport) SendMessage(ctx context.Context, frame []byte, binary bool) error {
	t.out.begin(len(frame))
	defer t.out.end()
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
// goodbye is told as io.EOF, one that asked to try again later as [connect.ErrTryLater],
// one that is silent for two intervals of pings as [connect.ErrPeerSilent].
func (t *Transport) Recv(context.Context) ([]byte, error) {
	t.pulse.felt()
	_, message, err := t.conn.NextReader()
	return t.read(message, err)
}

// RecvMessage is Recv for a relay: it also tells a binary message from a text message.
func (t *Transport) RecvMessage(context.Context) (frame []byte, binary bool, err error) {
	t.pulse.felt()
	kind, message, err := t.conn.NextReader()
	frame, err = t.read(message, err)
	return frame, kind == websocket.BinaryMessage, err
}

// read reads a message, or tells why none came. It is apart from Recv, in which idle
// sessions wait with as little on the stack as can be.
//
//go:noinline
func (t *Transport) read(message io.Reader, err error) ([]byte, error) {
	var frame []byte
	if err == nil && t.in != nil {
		message = t.in.begin(message)
	}
	if err == nil {
		frame, err = readMessage(message)
	}
	if err != nil {
		return nil, t.readError(err)
	}
	return frame, nil
}

func (t *Transport) readError(err error) error {
	if closedHere(err) {
		return cmp.Or(t.out.failure(), err) // which may be why it was closed
	}
	switch {
	case websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived):
		return io.EOF
	case websocket.IsCloseError(err, websocket.CloseTryAgainLater):
		return fmt.Errorf("%w: %w", connect.ErrTryLater, err)
	case errors.Is(err, websocket.ErrReadLimit):
		return fmt.Errorf("%w: %w", connect.ErrMalformedFrame, err)
	case isTimeout(err):
		return fmt.Errorf("%w for %v: %w", connect.ErrPeerSilent, t.pulse.patience(), err)
	default:
		return err
	}
}

// closedHere reports whether an operation failed because this side closed the connection.
func closedHere(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// SetReadLimit implements [connect.ReadLimiter]; a larger message ends the connection.
func (t *Transport) SetReadLimit(bytes int) { t.conn.SetReadLimit(int64(bytes)) }

// Close says goodbye, if a write that is stuck leaves room for it within a second, and
// closes the connection.
func (t *Transport) Close() error { return t.closeWith(websocket.CloseNormalClosure) }

// Postpone implements [connect.Postponer]: its goodbye asks the peer to try again later,
// status 1013.
func (t *Transport) Postpone() error { return t.closeWith(websocket.CloseTryAgainLater) }

func (t *Transport) closeWith(status int) error {
	t.once.Do(func() {
		_ = t.goodbye(status)
		t.hangUp()
	})
	return t.err
}

// Finish implements [connect.Finisher]: it says goodbye and gives the peer a second to
// read what was sent before and to hang up.
func (t *Transport) Finish() error {
	t.once.Do(func() {
		if t.goodbye(websocket.CloseNormalClosure) == nil {
			t.linger()
		}
		t.hangUp()
	})
	return t.err
}

func (t *Transport) goodbye(status int) error {
	text := websocket.FormatCloseMessage(status, "")
	return t.conn.WriteControl(websocket.CloseMessage, text, time.Now().Add(closeGrace))
}

// abort closes the connection without a word, and without waiting.
func (t *Transport) abort() { socketOf(t.conn.NetConn()).Close() }

// hangUp closes the connection and waits for its goroutines. TLS says goodbye as well,
// and has a moment for it.
func (t *Transport) hangUp() {
	defer time.AfterFunc(closeGrace, t.abort).Stop()
	if t.err = t.conn.Close(); closedHere(t.err) {
		t.err = nil // by abort
	}
	t.out.stop()
	t.pulse.stop()
}

// linger ends our half of a connection and waits until the peer ends the other one, for a
// moment. To close while the peer's data is unread would reset the connection, and take
// with it what the peer has not read yet.
func (t *Transport) linger() {
	defer time.AfterFunc(closeGrace, t.abort).Stop()
	conn := t.conn.NetConn()
	if c, ok := conn.(*batchConn); ok {
		c.out.settle()
		conn = c.Conn // c has a reader already
	}
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	var rest [512]byte // io.Copy takes more, for as long as the peer takes
	for err := error(nil); err == nil; {
		_, err = conn.Read(rest[:])
	}
}
