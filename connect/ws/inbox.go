package ws

import "net"

// inbox reads ahead when more has come than was asked for. The zero value has read
// nothing.
type inbox struct {
	piece *[pieceBytes]byte // nil unless ahead is a part of it
	ahead []byte            // what was read and not asked for yet
	more  bool              // the last read got all that it asked for
}

// read is conn.Read for one reader at a time. It waits with a piece in its hands only if
// more seemed to have come.
func (in *inbox) read(conn net.Conn, p []byte) (int, error) {
	if len(in.ahead) > 0 {
		return in.take(p), nil
	}
	if !in.more || len(p) >= pieceBytes {
		n, err := conn.Read(p)
		in.more = n == len(p)
		return n, err
	}
	in.piece = pieces.Get().(*[pieceBytes]byte)
	n, err := conn.Read(in.piece[:])
	in.more = n == pieceBytes
	in.ahead = in.piece[:n]
	return in.take(p), err
}

// take moves what was read ahead to p, and gives the piece back after the last of it.
func (in *inbox) take(p []byte) int {
	n := copy(p, in.ahead)
	if in.ahead = in.ahead[n:]; len(in.ahead) == 0 {
		pieces.Put(in.piece)
		in.piece, in.ahead = nil, nil
	}
	return n
}
