package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
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

// members returns the members of a JSON object that somebody wrote, what says which; it
// may have any when none is known.
func members(text json.RawMessage, what string, known ...string) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	err := json.Unmarshal(text, &object)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if err != nil || object == nil {
		return nil, fmt.Errorf("%s is not an object", what)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(known) > 0 && !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s has no %q, only %s", what, name, strings.Join(known, ", "))
		}
	}
	return object, nil
}

// stringOf returns a member that is a string, what says which; "" when it is left out.
func stringOf(text json.RawMessage, what string) (value string, err error) {
	if text != nil && (json.Unmarshal(text, &value) != nil || text[0] != '"') {
		return "", fmt.Errorf("%s is not a string", what)
	}
	return value, nil
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
