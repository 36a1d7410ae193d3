package remotetool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The binary stream.
//
// Source: remote tool spec, section 9.
const (
	frameMagic   = "ASFT"
	frameVersion = 1
	frameHeader  = 56
	idLength     = 32

	frameChunk    = 1
	frameComplete = 2
	frameFailed   = 3

	// DefaultChunkBytes is how much of a file one frame carries unless told otherwise.
	DefaultChunkBytes = 65536
	minChunkBytes     = 1024
	maxChunkBytes     = 524288
)

// frame is one binary message.
type frame struct {
	kind     byte
	id       string
	sequence int32
	offset   int64
	payload  []byte
}

var errFrame = errors.New("not a frame of " + WireProtocol)

// appendFrame appends the frame as it is sent.
func appendFrame(dst []byte, f frame) []byte {
	dst = append(dst, frameMagic...)
	dst = append(dst, frameVersion, f.kind, 0, 0)
	dst = append(dst, f.id...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.sequence))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.offset))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.payload)))
	return append(dst, f.payload...)
}

// parseFrame judges one binary message. Payload aliases b. Where the transfer can be
// told but the rest is wrong, the frame has its id beside the error.
func parseFrame(b []byte) (frame, error) {
	if len(b) < frameHeader || string(b[:4]) != frameMagic || !isTransferID(b[8:8+idLength]) {
		return frame{}, errFrame
	}
	f := frame{
		kind:     b[5],
		id:       string(b[8 : 8+idLength]),
		sequence: int32(binary.LittleEndian.Uint32(b[40:])),
		offset:   int64(binary.LittleEndian.Uint64(b[44:])),
		payload:  b[frameHeader:],
	}
	length := binary.LittleEndian.Uint32(b[52:])
	switch {
	case b[4] != frameVersion:
		return f, fmt.Errorf("%w: version %d", errFrame, b[4])
	case f.kind < frameChunk || f.kind > frameFailed:
		return f, fmt.Errorf("%w: type %d", errFrame, f.kind)
	case b[6] != 0 || b[7] != 0:
		return f, fmt.Errorf("%w: reserved bytes are set", errFrame)
	case length > math.MaxInt32 || int(length) != len(f.payload):
		return f, fmt.Errorf("%w: length %d with %d bytes", errFrame, length, len(f.payload))
	case len(f.payload) > maxChunkBytes:
		return f, fmt.Errorf("%w: %d bytes in one frame", errFrame, len(f.payload))
	case f.sequence < 0 || f.offset < 0:
		return f, fmt.Errorf("%w: a negative position", errFrame)
	}
	return f, nil
}

// isTransferID reports 32 lower-case hex digits.
func isTransferID[T string | []byte](id T) bool {
	if len(id) != idLength {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
