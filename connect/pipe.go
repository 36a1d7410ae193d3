package connect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// pipeDepth is how many frames each direction of a [Pipe] holds.
const pipeDepth = 16

var errPipeClosed = errors.New("pipe closed")

// Pipe returns two transports in memory that are connected to each other, for tests
// and for peers in one process. Each direction holds a few frames; a Send beyond them
// waits for a Recv. Closing one end ends the other: frames that were sent before can
// still be received, then Recv returns io.EOF.
func Pipe() (Transport, Transport) {
	ab, ba := make(chan []byte, pipeDepth), make(chan []byte, pipeDepth)
	a := &pipeEnd{out: ab, in: ba, closed: make(chan struct{})}
	b := &pipeEnd{out: ba, in: ab, closed: make(chan struct{})}
	a.peer, b.peer = b, a
	return a, b
}

type pipeEnd struct {
	out    chan<- []byte
	in     <-chan []byte
	peer   *pipeEnd
	closed chan struct{}
	once   sync.Once
}

// Send implements [Transport].
func (p *pipeEnd) Send(ctx context.Context, frame []byte) error {
	select {
	case <-p.closed:
		return errPipeClosed
	case <-p.peer.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case p.out <- bytes.Clone(frame):
		return nil
	case <-p.closed:
		return errPipeClosed
	case <-p.peer.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// HasRoom implements [RoomChecker].
func (p *pipeEnd) HasRoom(int) bool { return len(p.out) < cap(p.out) }

// backlog reports whether frames wait to be received.
func (p *pipeEnd) backlog() bool { return len(p.in) > 0 }

// Recv implements [Transport].
func (p *pipeEnd) Recv(ctx context.Context) ([]byte, error) {
	select {
	case <-p.closed:
		return nil, errPipeClosed
	default:
	}
	select {
	case frame := <-p.in:
		return frame, nil
	case <-p.closed:
		return nil, errPipeClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.peer.closed:
	}
	select {
	case frame := <-p.in:
		return frame, nil
	default:
		return nil, io.EOF
	}
}

// Close implements [Transport].
func (p *pipeEnd) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}
