package bench

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
)

var errUnverified = errors.New("a signature of the floor does not verify")

// Envelope is about how many bytes of a signed request or response its signature covers
// beside the payload.
const Envelope = 320

// Floor returns a call that signs a message of each of the sizes and verifies each
// signature. No session that signs and verifies every envelope can be faster on the same
// machine. An invoke has two, of a request's and of a response's size; a handshake has
// three. The call may run many times at once and allocates nothing of its own.
func Floor(sizes ...int) (Call, error) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	text := make([]byte, slices.Max(sizes))
	return func(context.Context, int) error {
		for _, size := range sizes {
			if message := text[:size]; !ed25519.Verify(public, message, ed25519.Sign(key, message)) {
				return errUnverified
			}
		}
		return nil
	}, nil
}
