package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// wirePrinter returns what prints each frame and the verdict on it.
func wirePrinter(w io.Writer) func(wiretap.Frame) {
	return func(f wiretap.Frame) {
		arrow := "<-"
		if f.Out {
			arrow = "->"
		}
		verdict := paint(w, green, "signature valid")
		switch {
		case f.Unsigned:
			verdict = "carries no signature"
		case f.Problem != "":
			verdict = paint(w, red, "NOT VALID: "+termtext.Line(f.Problem))
		}
		fmt.Fprintf(w, "%s %s: %s\n%s\n", arrow, termtext.Line(f.Name), verdict, indented(f.Text))
	}
}

// shared is a writer for several goroutines.
type shared struct {
	mu sync.Mutex
	io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Writer.Write(p)
}
