package remotetool

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

func FuzzEnvelope(f *testing.F) {
	seeds := []string{
		`{"type":"tool.query","id":"1","payload":{"detail":"index","limit":1}}`,
		`{"type":"tool.call","id":"1","sessionId":"s","payload":{"toolId":"json.echo","arguments":{"a":[1,null]},"after":{}}}`,
		`{"type":"tool.batch","id":"1","payload":{"calls":[{"toolId":"json.echo"},1],"continueOnError":true}}`,
		`{"type":"tool.error","id":"1","replyTo":"2","payload":{"code":"x"}}`, `{"type":"tool.query","id":"7","id":"7"}`, `[]`,
	}
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	p := providerOf(f, jsonEcho())
	f.Fuzz(func(t *testing.T, text []byte) {
		got := p.HandleMessage(t.Context(), text)
		if got == nil {
			return
		}
		e, ours, fault := parseEnvelope(got)
		if !ours || fault != nil || !isAnswer(e.kind) {
			t.Fatalf("%s is answered with %s", text, got)
		}
		if p.HandleMessage(t.Context(), got) != nil {
			t.Fatalf("an answer was answered: %s", got)
		}
	})
}

func FuzzWrapper(f *testing.F) {
	seeds := [][]byte{wrapperOf(f, []byte(`{"a":1}`)), wrapperOf(f, wrapperOf(f, []byte(`1`))), []byte(`{"$ansightEncoding":"x"}`), []byte(`{}`)}
	for _, seed := range seeds {
		f.Add(seed)
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	const limit = 1 << 16
	f.Fuzz(func(t *testing.T, payload []byte) {
		plain, err := unwrap(payload, limit)
		if err != nil {
			if CodeOf(err) != CodeProtocol || plain != nil {
				t.Fatalf("%v", err)
			}
			return
		}
		if !bytes.Equal(plain, payload) && (len(plain) > limit || jcs.Check(plain, maxDepth) != nil || wrapped(json.RawMessage(plain))) {
			t.Fatalf("%q came out", plain)
		}
	})
}

func FuzzFrame(f *testing.F) {
	seeds := []string{chunkVector, completeVector}
	for _, seed := range seeds {
		f.Add(unhex(f, seed))
	}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseFrame(b)
		switch {
		case err != nil && !errors.Is(err, errFrame):
			t.Fatal(err)
		case err == nil && !bytes.Equal(appendFrame(nil, got), b):
			t.Fatalf("%x is not encoded as it was", b)
		}
	})
}
