package remotetool

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/tools"
)

func zip(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// wrapperOf returns a wrapper with the counts that belong to it.
func wrapperOf(t testing.TB, plain []byte) json.RawMessage {
	return appendWrapper(plain, zip(t, plain))
}

func TestALargePayloadThatShrinksIsWrapped(t *testing.T) {
	payload := func(n int) []byte { return []byte(`"` + strings.Repeat("a", n-2) + `"`) }
	noise := make([]byte, 30000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	random := []byte(`"` + base64.StdEncoding.EncodeToString(noise) + `"`)
	require.Greater(t, len(random), wrapThreshold)
	for _, c := range []struct {
		name    string
		payload []byte
		wrapped bool
	}{
		{"one byte below", payload(wrapThreshold - 1), false},
		{"just as large", payload(wrapThreshold), true},
		{"larger", payload(wrapThreshold * 10), true},
		{"noise that does not shrink", random, false},
	} {
		got := wrap(c.payload)
		assert.Equal(t, c.wrapped, wrapped(got), c.name)
		assert.LessOrEqual(t, len(got), len(c.payload))
		plain, err := unwrap(got, DefaultInflatedBytes)
		require.NoError(t, err)
		assert.Equal(t, string(c.payload), string(plain))
	}
}

func TestAWrapperHasTheMembersOfTheSpec(t *testing.T) {
	payload := []byte(`"` + strings.Repeat("a", 40000) + `"`)
	m, err := membersOf(wrap(payload))
	require.NoError(t, err)
	assert.Equal(t, "$ansightEncoding compressedByteCount contentType data originalByteCount", keysOf(m))
	assert.Equal(t, "gzip-base64-json", text(m, "$ansightEncoding"))
	assert.Equal(t, "application/json", text(m, "contentType"))
	assert.Equal(t, fmt.Sprint(len(payload)), string(m["originalByteCount"]))
	zipped, err := base64.StdEncoding.DecodeString(text(m, "data"))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(len(zipped)), string(m["compressedByteCount"]))
}

func TestAPayloadWithoutTheMarkerIsPlain(t *testing.T) {
	for _, payload := range []string{`{"data":"x"}`, `{"$ansightEncoding":null}`, `{"a":{"$ansightEncoding":"gzip-base64-json"}}`, `[]`, `null`, `"x"`, ``} {
		got, err := unwrap(json.RawMessage(payload), 10)
		require.NoError(t, err)
		assert.Equal(t, payload, string(got))
	}
}

func TestAWrapperThatIsNotAsItShouldBeIsRefused(t *testing.T) {
	plain := []byte(`{"a":1}`)
	zipped := zip(t, plain)
	data := base64.StdEncoding.EncodeToString
	bomb := zip(t, bytes.Repeat([]byte(" "), 64<<20))
	w := func(encoding, more string) string {
		return `{"$ansightEncoding":` + encoding + more + `}`
	}
	good := `"gzip-base64-json"`
	for _, c := range []struct{ name, payload string }{
		{"another marker", w(`"zip"`, `,"data":"`+data(zipped)+`"`)},
		{"a marker that is no text", w(`1`, `,"data":"`+data(zipped)+`"`)},
		{"another content type", w(good, `,"contentType":"text/plain","data":"`+data(zipped)+`"`)},
		{"no data", w(good, ``)},
		{"data that is no text", w(good, `,"data":1`)},
		{"data that is no base64", w(good, `,"data":"***"`)},
		{"data that is no gzip", w(good, `,"data":"`+data(plain)+`"`)},
		{"gzip that is cut off", w(good, `,"data":"`+data(zipped[:len(zipped)-3])+`"`)},
		{"gzip with another checksum", w(good, `,"data":"`+data(append(zipped[:len(zipped)-8:len(zipped)-8], 0, 0, 0, 0, 7, 0, 0, 0))+`"`)},
		{"a byte after the gzip data", w(good, `,"data":"`+data(append(zipped[:len(zipped):len(zipped)], 0))+`"`)},
		{"a second gzip member", w(good, `,"data":"`+data(append(zipped[:len(zipped):len(zipped)], zipped...))+`"`)},
		{"bad JSON inside", w(good, `,"data":"`+data(zip(t, []byte(`{"a":`)))+`"`)},
		{"a name twice inside", w(good, `,"data":"`+data(zip(t, []byte(`{"a":1,"a":2}`)))+`"`)},
		{"deep JSON inside", w(good, `,"data":"`+data(zip(t, []byte(strings.Repeat("[", 300)+strings.Repeat("]", 300))))+`"`)},
		{"a wrapper inside", w(good, `,"data":"`+data(zip(t, wrapperOf(t, plain)))+`"`)},
		{"a wrong original count", w(good, `,"originalByteCount":8,"data":"`+data(zipped)+`"`)},
		{"a negative count", w(good, `,"originalByteCount":-7,"data":"`+data(zipped)+`"`)},
		{"a wrong compressed count", w(good, `,"compressedByteCount":1,"data":"`+data(zipped)+`"`)},
		{"a count that is a text", w(good, `,"originalByteCount":"7","data":"`+data(zipped)+`"`)},
		{"a bomb", w(good, `,"data":"`+data(bomb)+`"`)},
		{"a bomb that says that it is small", w(good, `,"originalByteCount":7,"data":"`+data(bomb)+`"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := unwrap(json.RawMessage(c.payload), 1<<20)
			assertCode(t, CodeProtocol, err)
			assert.Nil(t, got)
		})
	}
	got, err := unwrap(json.RawMessage(w(good, `,"data":"`+data(zipped)+`"`)), len(plain))
	require.NoError(t, err, "counts may be left out")
	assert.Equal(t, string(plain), string(got))
	got, err = unwrap(json.RawMessage(w(good, `,"data":"`+data(zipped)+`"`)), math.MaxInt)
	require.NoError(t, err, "no limit is too large")
	assert.Equal(t, string(plain), string(got))
	_, err = unwrap(json.RawMessage(w(good, `,"data":"`+data(zipped)+`"`)), len(plain)-1)
	assert.ErrorIs(t, err, errInflated)
}

func TestALargeAnswerIsSentWrappedAndARequestIsNot(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	p := providerOf(t, tool("tools.t.big", "", "", func(context.Context, json.RawMessage) (any, error) { return big, nil }, tools.Metadata{}))
	got := p.HandleMessage(t.Context(), []byte(`{"type":"tool.call","id":"1","payload":{"toolId":"t.big"}}`))
	assert.Less(t, len(got), 2000)
	e, _, _ := parseEnvelope(got)
	assert.True(t, wrapped(e.payload))
	wrappedCall := wrapperOf(t, raw(`{"toolId":"t.big"}`))
	assert.Equal(t, string(CodeCallMissingID), text(answerOf(t, p, TypeCall, TypeError, string(wrappedCall)), "code"))
}
