package jcs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

const envelope = `{"extensions":{},"op":"tools.test.echo","payload":{"count":2,"sides":6},` +
	`"peer_id":"12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp","request_id":"0b6a5d5e-3a5c-4cf5-9d6b-2f2f6f1f2a10",` +
	`"sequence":4711,"session_id":"d3b0f3c2-7b86-4a39-9f4b-70cbe7bb0a55",` +
	`"signature":"MEUCIQDk0b7pZ8mS3m1dUQb5XyqkYh2nCwJtFv9oRrGgLxKcGwIgZtVh1sW4uEo2yPq6fNn8BdA5rTzXc3jHkLmQe7"}`

// document is JSON text to measure.
type document struct {
	name      string
	text      []byte
	canonical bool
}

// documents are of each kind that costs its own way.
func documents() []document {
	return []document{
		{"envelope", []byte(envelope), true},
		{"64KiB", records(64 << 10), true},
		{"1MiB", records(1 << 20), true},
		{"numbers", listOf(64<<10, func(i int) string { return fmt.Sprintf("%d.%03d", i*i, 1+i%999) }), false},
		{"escapes", listOf(64<<10, func(i int) string { return fmt.Sprintf(`"a\u000a\/\"%d\u00e9"`, i) }), false},
		{"unsorted", unsorted(64 << 10), false},
		{"unsorted-1MiB", unsorted(1 << 20), false},
	}
}

// listOf is an array of about size bytes.
func listOf(size int, item func(i int) string) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	b.WriteByte(']')
	return b.Bytes()
}

// records is canonical text as a tool would return it.
func records(size int) []byte {
	return listOf(size, func(i int) string {
		return fmt.Sprintf(`{"id":"entry-%06d","labels":["a","b"],"rank":%d,"summary":"%s"}`, i, i, strings.Repeat("word ", 12))
	})
}

// unsorted is one object whose names descend.
func unsorted(size int) []byte {
	text := listOf(size, func(i int) string { return fmt.Sprintf(`"name%07d":"value"`, 9999999-i) })
	text[0], text[len(text)-1] = '{', '}'
	return text
}

// grammar is the floor: jsontext's check of the grammar, encoding and names alone.
func grammar(text []byte) func() error {
	return func() error {
		if !jsontext.Value(text).IsValid() {
			return fmt.Errorf("not JSON: %.40s", text)
		}
		return nil
	}
}

// each measures what work makes of each document.
func each(b *testing.B, work func(text []byte) error) {
	for _, d := range documents() {
		b.Run("doc="+d.name, func(b *testing.B) {
			b.SetBytes(int64(len(d.text)))
			benchtest.Function(b, func() error { return work(d.text) }, grammar(d.text))
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	each(b, func(text []byte) error { return Check(text, 0) })
}

func BenchmarkCanonical(b *testing.B) {
	each(b, func(text []byte) error { _, err := Canonical(text); return err })
}

// BenchmarkSplit splits an object with the document in it.
func BenchmarkSplit(b *testing.B) {
	for _, d := range documents() {
		text := fmt.Appendf(nil, `{"op":"x","payload":%s,"sequence":1}`, d.text)
		b.Run("doc="+d.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			benchtest.Function(b, func() error { return Split(text, 0, VisitFunc(func([]byte, Member) {})) }, grammar(text))
		})
	}
}

func TestTheDocumentsOfTheBenchmarksAreWhatTheySay(t *testing.T) {
	for _, d := range documents() {
		s, err := judge(d.text, 0)
		require.NoError(t, err, d.name)
		require.Equal(t, d.canonical, s.canonical, d.name)
	}
}
