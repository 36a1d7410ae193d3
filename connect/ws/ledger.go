package ws

import (
	"net"
	"sync"
	"time"
)

// ledger is what a transport knows about the messages that it sends: the [outbox] of a
// connection that has one, else the room of its socket.
type ledger interface {
	// hasRoom reports whether a message of so many bytes, if it is what is sent next, is
	// sure not to wait.
	hasRoom(bytes int) bool

	// begin and end stand around the sending of a message.
	begin(bytes int)
	end()

	// awaitSpare waits for room for a ping or a pong, false if there is none within d.
	awaitSpare(bytes int, d time.Duration) bool

	// failure is why an earlier message could not be written, nil if none has failed.
	failure() error

	// stop waits for what still writes; the connection is closed.
	stop()
}

func ledgerOf(conn net.Conn) ledger {
	if c := batchConnOf(conn); c != nil {
		return &c.out
	}
	s := new(socketLedger)
	s.room.init(conn)
	s.spare.init(conn)
	s.spare.secure = true
	return s
}

// socketLedger is that of a connection which another package opened: each message is
// written before its sending ends.
type socketLedger struct {
	room room

	mu    sync.Mutex
	spare room // asks the socket every time; mu guards it
}

func (s *socketLedger) hasRoom(bytes int) bool { return s.room.has(bytes) }
func (s *socketLedger) begin(bytes int)        { s.room.spend(bytes) }
func (s *socketLedger) end()                   {}
func (s *socketLedger) failure() error         { return nil }
func (s *socketLedger) stop()                  {}

// awaitSpare does not wait. Where the socket can tell, there has to be room now: a ping
// that comes to its deadline would break the connection.
func (s *socketLedger) awaitSpare(bytes int, _ time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare.tells() && !s.spare.has(bytes) {
		return false
	}
	s.room.spend(bytes)
	return true
}
