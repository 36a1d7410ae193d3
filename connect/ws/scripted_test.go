package ws

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// scripted is a connection whose reads return what a test prepared, and whose writes it
// counts and can hold.
type scripted struct {
	net.Conn
	reads [][]byte
	asked []int // how long the buffers of the reads were

	mu      sync.Mutex
	writes  [][]byte
	closed  chan struct{}
	once    sync.Once
	held    chan struct{} // writes wait until it is closed; nil for none
	failing error

	deadlines    []time.Time // of writes
	readDeadline time.Time
}

func newScripted(reads ...[]byte) *scripted {
	return &scripted{reads: reads, closed: make(chan struct{})}
}

func (s *scripted) Read(p []byte) (int, error) {
	s.asked = append(s.asked, len(p))
	if len(s.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.reads[0])
	if s.reads[0] = s.reads[0][n:]; len(s.reads[0]) == 0 {
		s.reads = s.reads[1:]
	}
	return n, nil
}

func (s *scripted) SetReadDeadline(t time.Time) error {
	s.readDeadline = t
	return nil
}

func (s *scripted) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadlines = append(s.deadlines, t)
	return nil
}

func (s *scripted) Write(p []byte) (int, error) {
	select {
	case <-s.held:
	case <-s.closed:
		return 0, net.ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return 0, s.failing
	}
	s.writes = append(s.writes, bytes.Clone(p))
	return len(p), nil
}

func (s *scripted) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// written returns what was written so far, a text for each write.
func (s *scripted) written() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.writes {
		texts = append(texts, string(text))
	}
	return texts
}

var open = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
