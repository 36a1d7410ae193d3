package ws

import "net"

// inbox reads ahead when more has come than was asked for. The zero value has read
// nothing.
type inbox struct {
	piece *[pieceBytes]byte // nil unless ahead is a part of it
	ahead []byte            // what was read and not asked for yet
	more  bool              // the last read filled the buffer above
	err   error             // what comes after the last of ahead
}

// read is conn.Read for one reader at a time. It waits with a piece in its hands only if
// more seemed to have come.
func (in *inbox) read(conn net.Conn, p []byte) (int, error) {
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
