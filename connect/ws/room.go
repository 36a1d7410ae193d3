package ws

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"syscall"
)

const (
	// roomBytes is for how much a socket that can be written to is sure to have room:
	// systems say so from a few kilobytes on.
	roomBytes = 2 << 10
	// frameOverhead is what a message costs beside its payload, TLS included.
	frameOverhead = 64
)

// room knows whether a socket can be written to without waiting. It asks the socket, but
// not again until what it had room for is spent. The zero value never knows.
type room struct {
	socket   syscall.RawConn
	secure   bool             // the socket is asked every time: TLS writes on its own
	ask      func(fd uintptr) // made once; sets writable
	writable bool             // guarded as Send is
	left     atomic.Int64     // bytes; what is written aside, such as a ping, spends too
}

func (r *room) init(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn, r.secure = secure.NetConn(), true
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		r.socket, _ = tcp.SyscallConn()
		r.ask = func(fd uintptr) { r.writable = writable(fd) }
	}
}

// tells reports whether the socket can be asked at all.
func (r *room) tells() bool { return r.socket != nil && canAsk }

// has reports whether a message is sure to be written at once.
func (r *room) has(bytes int) bool {
	need := int64(bytes + frameOverhead)
	if r.socket == nil || need > roomBytes {
		return false
	}
	if !r.secure && r.left.Load() >= need {
		return true
	}
	if r.socket.Control(r.ask) != nil || !r.writable {
		return false
	}
	r.left.Store(roomBytes)
	return true
}

// spend counts a message that is about to be written.
func (r *room) spend(bytes int) { r.left.Add(-int64(bytes + frameOverhead)) }
