package ws

import (
	"crypto/tls"
	"net"
	"syscall"
)

// roomBytes is the longest message for which a socket that can be written to is sure to
// have room: systems say so from a few kilobytes on.
const roomBytes = 2 << 10

// room asks a socket whether it can be written to without waiting. The zero value never
// says so. It is used by one goroutine at a time.
type room struct {
	socket   syscall.RawConn
	ask      func(fd uintptr) // made once; sets writable
	writable bool
}

func (r *room) init(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		r.socket, _ = tcp.SyscallConn()
		r.ask = func(fd uintptr) { r.writable = writable(fd) }
	}
}

// has reports whether a message is sure to be written at once.
func (r *room) has(bytes int) bool {
	if r.socket == nil || bytes > roomBytes {
		return false
	}
	return r.socket.Control(r.ask) == nil && r.writable
}
