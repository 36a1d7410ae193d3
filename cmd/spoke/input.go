package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
)

// readInput reads a file, or stdin for "-".
func readInput(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
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
