package remotetool

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	vectorID       = "1234567890abcdef1234567890abcdef"
	chunkVector    = "41534654010100003132333435363738393061626364656631323334353637383930616263646566000000000000000000000000050000000102030405"
	completeVector = "4153465401020000313233343536373839306162636465663132333435363738393061626364656601000000050000000000000000000000"
)

func unhex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return b
}

func TestFramesAreTheBytesOfTheVectors(t *testing.T) {
	for vector, f := range map[string]frame{
		chunkVector:    {kind: frameChunk, id: vectorID, payload: []byte{1, 2, 3, 4, 5}},
		completeVector: {kind: frameComplete, id: vectorID, sequence: 1, offset: 5, payload: []byte{}},
	} {
		assert.Equal(t, vector, hex.EncodeToString(appendFrame(nil, f)))
		got, err := parseFrame(unhex(t, vector))
		require.NoError(t, err)
		assert.Equal(t, f, got)
	}
}

func TestAFrameThatIsNotAsItShouldBeIsRefused(t *testing.T) {
	change := func(at int, b byte) []byte {
		f := unhex(t, chunkVector)
		f[at] = b
		return f
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		known bool // which transfer it is of
	}{
		{"nothing", nil, false},
		{"a header that is cut off", unhex(t, completeVector)[:55], false},
		{"another magic", change(0, 'B'), false},
		{"an upper-case id", change(8, 'A'), false},
		{"an id that is no hex", change(39, 'g'), false},
		{"another version", change(4, 2), true},
		{"type 0", change(5, 0), true},
		{"type 4", change(5, 4), true},
		{"the first reserved byte", change(6, 1), true},
		{"the second reserved byte", change(7, 1), true},
		{"a length that is too large", change(52, 6), true},
		{"a length that is too small", change(52, 4), true},
		{"a negative length", change(55, 0xFF), true},
		{"a negative sequence", change(43, 0x80), true},
		{"a negative offset", change(51, 0x80), true},
		{"more than the largest chunk", appendFrame(nil, frame{kind: 1, id: vectorID, payload: make([]byte, maxChunkBytes+1)}), true},
	} {
		f, err := parseFrame(c.bytes)
		assert.ErrorIs(t, err, errFrame, c.name)
		assert.Equal(t, c.known, f.id == vectorID, c.name)
	}
}
