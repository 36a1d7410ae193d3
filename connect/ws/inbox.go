package ws

import (
	"io"
	"net"
	"time"
)

// What comes beside the payloads of messages, such as pings and fragments without
// content, is free up to so many bytes in one message or between two; then each further
// read waits for a moment. So a peer that sends nothing else costs as much as a slow one,
// and the other peers do not notice.
const (
	freeOverhead  = 64 << 10
	overheadPause = 4 * time.Millisecond
)

// inbox reads ahead when more has come than was asked for. The zero value has read
// nothing.
type inbox struct {
	piece *[pieceBytes]byte // nil unless ahead is a part of it
	ahead []byte            // what was read and not asked for yet
	more  bool              // the last read filled the buffer above
	err   error             // what comes after the last of ahead

	overhead int       // bytes that were no payload since the last message was whole
	message  io.Reader // the one that is being read, by Read
}

// begin makes Read read a message.
func (in *inbox) begin(message io.Reader) io.Reader {
	in.message = message
	return in
}

// Read reads from a message. Its bytes are no overhead.
func (in *inbox) Read(p []byte) (int, error) {
	n, err := in.message.Read(p)
	in.overhead = max(0, in.overhead-n)
	if err == io.EOF {
		in.overhead, in.message = 0, nil
	}
	return n, err
}

// read is conn.Read for one reader at a time, which takes its time after too much
// overhead.
func (in *inbox) read(conn net.Conn, p []byte) (int, error) {
	if in.overhead > freeOverhead {
		time.Sleep(overheadPause)
	}
	n, err := in.readAhead(conn, p)
	in.overhead += n
	return n, err
}

// readAhead waits with a piece in its hands only if more seemed to have come.
func (in *inbox) readAhead(conn net.Conn, p []byte) (int, error) {
	if len(in.ahead) > 0 {
		return in.take(p)
	}
	// A longer buffer is for the rest of a message: that it is full says nothing.
	if !in.more || len(p) > readBufferSize {
		n, err := conn.Read(p)
		in.more = n == len(p) && n <= readBufferSize
		return n, err
	}
	in.piece = pieces.Get().(*[pieceBytes]byte)
	n, err := conn.Read(in.piece[:])
	in.more = n == pieceBytes
	in.ahead, in.err = in.piece[:n], err
	return in.take(p)
}

// take moves what was read ahead to p. After the last of it the piece goes back, and the
// error of its reading comes out.
func (in *inbox) take(p []byte) (n int, err error) {
	n = copy(p, in.ahead)
	if in.ahead = in.ahead[n:]; len(in.ahead) == 0 {
		pieces.Put(in.piece)
		err = in.err
		in.piece, in.ahead, in.err = nil, nil, nil
	}
	return n, err
}
