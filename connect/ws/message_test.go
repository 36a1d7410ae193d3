package ws

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAMessageIsReadWhole(t *testing.T) {
	for _, size := range []int{0, 1, scratchBytes - 1, scratchBytes, scratchBytes + 1, 5 * scratchBytes, 3*mostChunk + 1} {
		message := make([]byte, size)
		for i := range message {
			message[i] = byte(i % 251)
		}
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"in one piece":       func(r io.Reader) io.Reader { return r },
			"in halves":          iotest.HalfReader,
			"with its end":       iotest.DataErrReader,
			"in pieces of bytes": func(r io.Reader) io.Reader { return iotest.OneByteReader(r) },
		} {
			t.Run(fmt.Sprintf("%d bytes %s", size, name), func(t *testing.T) {
				got, err := readMessage(wrap(bytes.NewReader(message)))
				require.NoError(t, err)
				require.True(t, bytes.Equal(message, got))
			})
		}
	}
}

func TestAMessageThatBreaksOffIsNone(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{0, 10, scratchBytes, 2 * scratchBytes, 6 * scratchBytes} {
		got, err := readMessage(io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(broken)))
		assert.ErrorIs(t, err, broken)
		assert.Nil(t, got)
	}
}

func TestAShortMessageTakesItsOwnSize(t *testing.T) {
	got, err := readMessage(bytes.NewReader(make([]byte, 400)))
	require.NoError(t, err)
	assert.LessOrEqual(t, cap(got), 512)
}
