package b64url

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDecodeAcceptsOnlyWhatEncodeWrites(t *testing.T) {
	for _, text := range []string{"AA==", "AB", "A", "AA\n", "A\rA", "+/A", "AA A", "é"} {
		_, err := Decode(text)
		assert.Error(t, err, "%q", text)
	}
	got, err := Decode("-_A")
	assert.NoError(t, err)
	assert.Equal(t, []byte{0xfb, 0xf0}, got)
}

func FuzzDecode(f *testing.F) {
	f.Add("")
	f.Add("-_A")
	f.Add("AB")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Decode(text)
		if err == nil && Encode(b) != text {
			t.Fatalf("%q decodes to % x, which encodes to %q", text, b, Encode(b))
		}
		exact := make([]byte, len(b))
		if ok := DecodeExactly(exact, []byte(text)); ok != (err == nil) || ok && !bytes.Equal(exact, b) {
			t.Fatalf("%q: DecodeExactly disagrees", text)
		}
		if DecodeExactly(make([]byte, len(b)+1), []byte(text)) {
			t.Fatalf("%q decodes into more than it holds", text)
		}
		if back, err := Decode(Encode([]byte(text))); err != nil || !bytes.Equal(back, []byte(text)) {
			t.Fatalf("%q does not come back", text)
		}
	})
}
