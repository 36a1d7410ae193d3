package ws

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// batchConn is a connection on which messages that come close upon each other share
// reads and writes, for a system call costs more than the message that it moves. A
// message that comes alone is read and written as on any connection.
type batchConn struct {
	net.Conn
	in  inbox
	out outbox
}

func newBatchConn(conn net.Conn) *batchConn {
	c := &batchConn{Conn: conn}
	c.out.init(conn)
	return c
}

// batchConnOf returns the batchConn that a connection is or is secured by TLS over, nil
// if there is none.
func batchConnOf(conn net.Conn) *batchConn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*batchConn)
	return c
}

// socketOf returns what lies below TLS and a batchConn: to close that never waits.
func socketOf(conn net.Conn) net.Conn {
	for {
		switch c := conn.(type) {
		case *batchConn:
			conn = c.Conn
		case *tls.Conn:
			conn = c.NetConn()
		default:
			return conn
		}
	}
}

// NetConn returns the connection below.
func (c *batchConn) NetConn() net.Conn { return c.Conn }

// Close implements [net.Conn]: what waits is written first, if the peer reads.
func (c *batchConn) Close() error {
	c.out.settle()
	return c.Conn.Close()
}

// Read implements [net.Conn].
func (c *batchConn) Read(p []byte) (int, error) { return c.in.read(c.Conn, p) }

// Write implements [net.Conn]. What it took may be written later; if that fails, the next
// Write returns why.
func (c *batchConn) Write(p []byte) (int, error) { return c.out.write(p) }

// SetWriteDeadline implements [net.Conn], for calls of Write that come later. What one of
// them took has no deadline.
func (c *batchConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(t)
	return nil
}

// SetDeadline implements [net.Conn].
func (c *batchConn) SetDeadline(t time.Time) error {
	c.out.setDeadline(t)
	return c.SetReadDeadline(t)
}

// pieceBytes is how much at most is read ahead, or waits to be written.
const pieceBytes = 4 << 10

// pieces are shared by all connections: an idle one holds none.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// batchedWriter is a response writer whose connection is hijacked as a batchConn.
type batchedWriter struct{ http.ResponseWriter }

func (w batchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return newBatchConn(conn), rw, nil
}
