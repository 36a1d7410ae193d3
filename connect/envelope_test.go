package connect

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFieldsStandInCanonicalOrder(t *testing.T) {
	require.LessOrEqual(t, int(fieldCount), 32, "a fieldSet has 32 bits")
	document := map[string]int{}
	for f, name := range fieldNames {
		require.NotEmpty(t, name, "field %d", f)
		document[name] = f
		got, ok := fieldNamed([]byte(name))
		assert.True(t, ok)
		assert.Equal(t, field(f), got)
	}
	require.Len(t, document, int(fieldCount), "names are unique")
	text := mustJSON(t, document)

	var e envelope
	require.NoError(t, parseEnvelope(&e, text, 0))
	assert.False(t, e.unknown)
	all := fieldSet(1<<fieldCount - 1)
	assert.Equal(t, all, e.present)
	signed, err := e.appendSigned(nil, all)
	require.NoError(t, err)
	assert.Equal(t, mustCanonical(t, text), string(signed))

	assert.True(t, slices.IsSortedFunc(fieldNames[:], func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	}), "the order of canonical names is by UTF-16 code unit")
}

func TestMembersOfNoEnvelopeAreNoticed(t *testing.T) {
	for _, name := range []string{"", "Op", "op ", "sequence2", "sessionid", "opération"} {
		var e envelope
		require.NoError(t, parseEnvelope(&e, mustJSON(t, map[string]int{name: 1}), 0))
		assert.True(t, e.unknown, "%q", name)
		assert.Zero(t, e.present, "%q", name)
	}
	var e envelope
	require.NoError(t, parseEnvelope(&e, []byte(`{"\u006f\u0070":"x"}`), 0))
	assert.False(t, e.unknown, "an escaped name is the name")
	assert.Equal(t, fields(fieldOp), e.present)
}

func TestIntegersAreJudgedByValue(t *testing.T) {
	for text, want := range map[string]struct {
		n  uint64
		ok bool
	}{
		"0":                    {0, true},
		"1":                    {1, true},
		"1.0":                  {1, true},
		"1e3":                  {1000, true},
		"1E+3":                 {1000, true},
		"10e-1":                {1, true},
		"0.5e1":                {5, true},
		"-0":                   {0, true},
		"-0.0":                 {0, true},
		"9007199254740991":     {maxSequence, true},
		"9007199254740991.0":   {maxSequence, true},
		"9007199254740992":     {0, false},
		"9007199254740993":     {0, false},
		"18446744073709551615": {0, false},
		"18446744073709551616": {0, false},
		"1e16":                 {0, false},
		"1e300":                {0, false},
		"1.5":                  {0, false},
		"1e-7":                 {0, false},
		"-1":                   {0, false},
		"-1.0":                 {0, false},
		`"1"`:                  {0, false},
		`""`:                   {0, false},
		"true":                 {0, false},
		"null":                 {0, false},
		"[1]":                  {0, false},
		"{}":                   {0, false},
	} {
		t.Run("sequence "+text, func(t *testing.T) {
			var e envelope
			require.NoError(t, parseEnvelope(&e, []byte(`{"sequence": `+text+` }`), 0))
			n, ok := e.integer(fieldSequence)
			assert.Equal(t, want.ok, ok)
			if want.ok {
				assert.Equal(t, want.n, n)
			}
		})
	}
	n, ok := new(envelope).integer(fieldSequence)
	assert.False(t, ok, "an absent member is no integer")
	assert.Zero(t, n)
}

func TestTextIsMeasuredAsJavaScriptMeasuresIt(t *testing.T) {
	for _, text := range []string{"", "abc", "é", "€", "\uffff", "\U00010000", "😀", "a😀b", "e\u0301", "\x00", strings.Repeat("😀", 100)} {
		assert.Equal(t, len(utf16.Encode([]rune(text))), utf16Length(text), "%q", text)
	}
	assert.Equal(t, 2, utf16Length("😀"))
}

func TestFramesAreClassifiedByShape(t *testing.T) {
	const ids = `"session_id":"s","sequence":1,"request_id":"r"`
	long := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	for name, c := range map[string]struct {
		frame string
		want  frameClass
	}{
		"op and payload make a request":             {`{` + ids + `,"op":"o","payload":null}`, requestFrame},
		"an error beside op and payload is ignored": {`{` + ids + `,"op":"o","payload":{},"error":{}}`, requestFrame},
		"payload without op makes a response":       {`{` + ids + `,"payload":{}}`, responseFrame},
		"error without op makes a response":         {`{` + ids + `,"error":{}}`, responseFrame},
		"payload and error make a response":         {`{` + ids + `,"payload":{},"error":{}}`, responseFrame},
		"a sequence of 1.0 is a sequence":           {`{"session_id":"s","sequence":1.0,"request_id":"r","payload":1}`, responseFrame},
		"unknown members do not matter":             {`{` + ids + `,"payload":1,"x":1}`, responseFrame},
		"an op of 256 characters is an op":          {`{` + ids + `,"payload":1,"op":` + long(256) + `}`, requestFrame},
		"an op of 257 characters is not":            {`{` + ids + `,"payload":1,"op":` + long(257) + `}`, otherFrame},
		"an op that is a number is not":             {`{` + ids + `,"payload":1,"op":1}`, otherFrame},
		"an op with an error only":                  {`{` + ids + `,"error":1,"op":"o"}`, otherFrame},
		"an op alone":                               {`{` + ids + `,"op":"o"}`, otherFrame},
		"no payload, error or op":                   {`{` + ids + `}`, otherFrame},
		"a session id that is a number":             {`{"session_id":1,"sequence":1,"request_id":"r","payload":1}`, otherFrame},
		"a session id of 129 characters":            {`{"session_id":` + long(129) + `,"sequence":1,"request_id":"r","payload":1}`, otherFrame},
		"a request id of 129 characters":            {`{"session_id":"s","sequence":1,"request_id":` + long(129) + `,"payload":1}`, otherFrame},
		"ids of 128 characters":                     {`{"session_id":` + long(128) + `,"sequence":1,"request_id":` + long(128) + `,"payload":1}`, responseFrame},
		"a sequence that is a string":               {`{"session_id":"s","sequence":"1","request_id":"r","payload":1}`, otherFrame},
		"a negative sequence":                       {`{"session_id":"s","sequence":-1,"request_id":"r","payload":1}`, otherFrame},
		"a sequence of 2^53":                        {`{"session_id":"s","sequence":9007199254740992,"request_id":"r","payload":1}`, otherFrame},
		"an empty object":                           {`{}`, otherFrame},
	} {
		t.Run(name, func(t *testing.T) {
			var e envelope
			require.NoError(t, parseEnvelope(&e, []byte(c.frame), 0))
			assert.Equal(t, c.want, classify(&e))
			assert.Equal(t, c.want, classify(&e), "asking changes nothing")
		})
	}
}
