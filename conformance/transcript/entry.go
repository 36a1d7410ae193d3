package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The sides of a session, by who dialed.
const (
	FromDialer    = "dialer"
	FromResponder = "responder"
)

// Entry is one frame of a session.
type Entry struct {
	// From is the side that sent the frame, [FromDialer] or [FromResponder].
	From string `json:"from"`
	// Binary tells a binary message from a text message.
	Binary bool `json:"binary"`
	// Frame is the frame's text. Bytes that are not UTF-8 become U+FFFD.
	Frame string `json:"frame"`
}

// maxLine bounds a line; a frame of 4 MiB whose every byte is escaped fits.
const maxLine = 32 << 20

// Read reads a transcript. A line that is no entry is an error that names it; so is a
// transcript without lines.
func Read(r io.Reader) ([]Entry, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var entries []Entry
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		entry, err := parse(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("transcript line %d: %w", n, err)
		}
		entries = append(entries, entry)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	if len(entries) == 0 {
		return nil, errors.New("transcript: no entry")
	}
	return entries, nil
}

func parse(line []byte) (Entry, error) {
	var e Entry
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return e, err
	}
	if e.From != FromDialer && e.From != FromResponder {
		return e, fmt.Errorf("from is %q, want %q or %q", e.From, FromDialer, FromResponder)
	}
	return e, nil
}

// Write writes one entry as a line.
func Write(w io.Writer, e Entry) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return err
	}
	_, err := w.Write(line.Bytes())
	return err
}
