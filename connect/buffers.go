package connect

import (
	"bytes"
	"sync"
)

// bufferPool recycles byte buffers. A buffer goes back only after its last read.
type bufferPool struct{ pool sync.Pool }

// maxPooled keeps one large payload from staying in memory for ever.
const maxPooled = 64 << 10

// signBuffers hold canonical bytes while they are signed, verified or written.
var signBuffers bufferPool

// compact returns value, which is a part of a frame, or a copy of it when to keep the
// value would keep much else: unsigned extensions can be far larger.
func compact(value []byte, frame int) []byte {
	const small = 4 << 10
	if frame <= small || 2*len(value) >= frame {
		return value
	}
	return bytes.Clone(value)
}

// envelopePool recycles envelopes. One goes back only after its last read.
type envelopePool struct{ pool sync.Pool }

var envelopes envelopePool

// get returns a zero envelope.
func (p *envelopePool) get() *envelope {
	if e, ok := p.pool.Get().(*envelope); ok {
		return e
	}
	return new(envelope)
}

func (p *envelopePool) put(e *envelope) {
	*e = envelope{} // so that it keeps no frame in memory
	p.pool.Put(e)
}

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 1024)
	return &b
}

func (p *bufferPool) put(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}
