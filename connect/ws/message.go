package ws

import (
	"bytes"
	"io"
	"sync"
)

const (
	scratchBytes = 16 << 10
	mostChunk    = 1 << 20
)

// scratches are where messages are read to, to learn how long they are.
var scratches = sync.Pool{New: func() any { return new([scratchBytes]byte) }}

// readMessage reads a message to its end, into memory of its own size.
func readMessage(r io.Reader) ([]byte, error) {
	scratch := scratches.Get().(*[scratchBytes]byte)
	defer scratches.Put(scratch)
	n, err := readFull(r, scratch[:])
	if err == io.EOF {
		return bytes.Clone(scratch[:n]), nil
	}
	if err != nil {
		return nil, err
	}
	return readLong(r, scratch[:])
}

// readLong reads on in chunks that are joined at the end: to let one buffer grow would
// copy, and leave behind, twice the message.
func readLong(r io.Reader, first []byte) ([]byte, error) {
	chunks := [][]byte{first}
	for size := 4 * len(first); ; size = min(2*size, mostChunk) {
		chunk := make([]byte, size)
		n, err := readFull(r, chunk)
		chunks = append(chunks, chunk[:n])
		if err == io.EOF {
			return bytes.Join(chunks, nil), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readFull fills b, as io.ReadFull does, but tells the end of the message as io.EOF
// however much of b is full.
func readFull(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		more, err = r.Read(b[n:])
		n += more
	}
	return n, err
}
