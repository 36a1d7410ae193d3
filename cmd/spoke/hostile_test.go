package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// hostile is what a terminal would obey: a title, a cleared screen, a colour.
const hostile = "\x1b]0;x\a\u009b2J\u009b31m\x7f\u0085"

// notForTerminals matches control characters that are no line breaks.
const notForTerminals = `[\x00-\x09\x0b-\x1f\x{7f}-\x{9f}]`

func TestWhatAPeerSaysCannotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(map[string]any{hostile: []string{hostile}})
	require.NoError(t, err)
	reject := spoke.Rejectf(spoke.CodeInternalError, "%s", hostile).WithDetail(hostile, hostile)
	for name, print := range map[string]func(*output) error{
		"a document": func(o *output) error { return o.document(text) },
		"a document on one line": func(o *output) error {
			o.json = true
			return o.document(text)
		},
		"the results of a batch": func(o *output) error {
			l := &link{output: *o}
			return l.results([]tools.BatchCall{{ID: "tools.a.b"}}, []tools.BatchResult{{Result: text}})
		},
		"a refusal":            func(o *output) error { explain(o.out, reject); return nil },
		"what to do":           func(o *output) error { explain(o.out, &advisedError{reject, "say " + hostile}); return nil },
		"a frame":              func(o *output) error { wirePrinter(o.out)(wiretap.Frame{Text: text}); return nil },
		"a frame that is none": func(o *output) error { wirePrinter(o.out)(wiretap.Frame{Text: []byte(hostile + "\n")}); return nil },
		"a problem of a manifest": func(o *output) error {
			return o.finding(finding{File: "x", Path: "/" + hostile, Message: hostile})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, print(&output{out: &out, err: &out}))
			assert.NotRegexp(t, notForTerminals, out.String())
			assert.Contains(t, out.String(), "2J", "nothing was shown")
		})
	}
}

func TestADocumentMeansWhatThePeerSaid(t *testing.T) {
	t.Parallel()
	want := map[string]any{hostile: []any{hostile}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		o := &output{json: asJSON, out: &out}
		require.NoError(t, o.document(text))
		var got map[string]any
		require.NoError(t, json.Unmarshal(out.Bytes(), &got))
		assert.Equal(t, want, got)
	}
}

func TestAFrameThatIsNoJSONIsQuoted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	wirePrinter(&out)(wiretap.Frame{Text: []byte("{\x1b[2J\n")})
	assert.Contains(t, out.String(), "\n\"{\\x1b[2J\\n\"\n")
}
