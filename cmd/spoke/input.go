package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
)

// stdin is what is typed, until ctx ends.
type stdin struct {
	ctx context.Context
	io.Reader
}

// Read implements [io.Reader]. One that ctx ends leaves a read behind, which the end of
// the program ends.
func (s *stdin) Read(p []byte) (int, error) {
	type part struct {
		text []byte
		err  error
	}
	read := make(chan part, 1)
	go func() {
		own := make([]byte, len(p))
		n, err := s.Reader.Read(own)
		read <- part{own[:n], err}
	}()
	select {
	case got := <-read:
		return copy(p, got.text), got.err
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// maxInput bounds what is read of a file or of stdin, in MiB: several times what a frame
// can hold.
const maxInput = 16

// readInput reads a file, or stdin for "-".
func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return readBounded(stdin, "stdin")
	}
	return readFile(name)
}

// readFile reads a file that may turn out to have no end.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readBounded(file, path)
}

func readBounded(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput<<20+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxInput<<20 {
		return nil, usagef("%s: more than %d MiB, which is too much for what this has to be", name, maxInput)
	}
	return text, nil
}

// readDocument returns the JSON that an argument means: the text itself, "-" for stdin,
// "@FILE" for a file.
func readDocument(stdin io.Reader, arg string) (json.RawMessage, error) {
	text := []byte(arg)
	name, isFile := strings.CutPrefix(arg, "@")
	if isFile || arg == "-" {
		var err error
		if text, err = readInput(stdin, name); err != nil {
			return nil, err
		}
	}
	if _, err := connect.Canonicalize(text); err != nil {
		return nil, usagef("the arguments are not JSON that can travel: %w", err)
	}
	return text, nil
}
