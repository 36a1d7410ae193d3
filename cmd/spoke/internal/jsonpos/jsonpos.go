// Package jsonpos finds the places of a JSON text that JSON pointers name, for error
// messages that show people where to look.
package jsonpos

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Position is a place in a text. Both count from 1, columns in characters.
type Position struct {
	Line, Column int
}

// Index knows where the values of one JSON text begin. It does not change.
type Index struct {
	text    []byte
	offsets map[string]int
	end     int
}

// New reads a text. On text that is not strict JSON, one document and nothing after it,
// the error says why, and the index goes as far as the text could be read.
func New(text []byte) (*Index, error) {
	x := &Index{text: text, offsets: make(map[string]int)}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	for documents := 0; ; {
		start := x.skip(int(dec.InputOffset()))
		_, err := dec.ReadToken()
		if err == io.EOF && documents > 0 {
			return x, nil
		}
		if err == nil && documents > 0 {
			err = errors.New("more text after the document")
		}
		if err != nil {
			x.end = x.faultAt(err, start)
			return x, reason(err)
		}
		x.note(string(dec.StackPointer()), start)
		if dec.StackDepth() == 0 {
			documents++
		}
	}
}

// note remembers the first place of a pointer: for a member, that of its name.
func (x *Index) note(pointer string, offset int) {
	if _, known := x.offsets[pointer]; !known {
		x.offsets[pointer] = offset
	}
}

// skip goes on to where the next token begins.
func (x *Index) skip(offset int) int {
	for offset < len(x.text) && bytes.IndexByte([]byte(" \t\r\n,:"), x.text[offset]) >= 0 {
		offset++
	}
	return offset
}

// faultAt is where a text stops being JSON.
func (x *Index) faultAt(err error, start int) int {
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return int(fault.ByteOffset)
	}
	return start
}

// reason is err without the place that the position says already.
func reason(err error) error {
	if fault, ok := errors.AsType[*jsontext.SyntacticError](err); ok && fault.Err != nil {
		return fault.Err
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Find returns where the pointer's value stands, for a member where its name stands.
// What is not there is found where its nearest parent begins.
func (x *Index) Find(pointer string) Position {
	for {
		if offset, ok := x.offsets[pointer]; ok {
			return x.at(offset)
		}
		cut := strings.LastIndexByte(pointer, '/')
		if cut < 0 {
			return x.at(0)
		}
		pointer = pointer[:cut]
	}
}

// End returns where the text stopped being JSON.
func (x *Index) End() Position { return x.at(x.end) }

func (x *Index) at(offset int) Position {
	before := x.text[:min(offset, len(x.text))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return Position{bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[line:]) + 1}
}
