package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// RedialConfig is [DialConfig] and how to come back. Nil Nonces mean a store that all
// sessions of the [Redialer] share.
type RedialConfig struct {
	DialConfig

	// Open opens a connection to the peer, such as with ws.Dial. Required. Its errors
	// are taken for a network that will be back.
	Open func(context.Context) (Transport, error)

	// MinDelay and MaxDelay are the wait before a new attempt, but for half of it up or
	// down by chance. It begins at MinDelay, grows by half with every attempt up to
	// MaxDelay, and begins anew after a session that lasted for MaxDelay. Zero means 500ms
	// and 30s, or MinDelay if that is longer.
	MinDelay, MaxDelay time.Duration

	// MaxRefusals is after how many attempts in a row the dialer stops when the peer
	// hangs up on its hello without a word, which is all that a responder does with a
	// peer that is not on its allowlist. A [Server] that has no place now says so where
	// the transport can, as WebSocket does; that does not count. Zero means 5; negative
	// never stops.
	MaxRefusals int

	// FailFast fails an invoke that finds no session at once, with kind session_closed.
	// Otherwise it waits for the next session, as long as its context and a timeout of
	// [WithInvokeTimeout] last. InvokeTimeout counts from the session on.
	FailFast bool

	// OnState is told of each change of state, one after the other, and why: the error
	// that ended the last attempt or session, or nil. It must return soon.
	OnState func(State, error)

	// OnDelay is told before each wait how long it will be. It comes after the OnState
	// of the same end, and must return soon as well.
	OnDelay func(time.Duration)
}

func (c *RedialConfig) setDefaults() {
	defaultTo(&c.MinDelay, 500*time.Millisecond)
	defaultTo(&c.MaxDelay, max(30*time.Second, c.MinDelay))
	defaultTo(&c.MaxRefusals, 5)
	if c.Nonces == nil {
		c.Nonces = NewNonceStore(1024)
	}
	if c.OnState == nil {
		c.OnState = func(State, error) {}
	}
	if c.OnDelay == nil {
		c.OnDelay = func(time.Duration) {}
	}
}

func (c *RedialConfig) check() error {
	switch {
	case c.Open == nil:
		return fmt.Errorf("config: no Open")
	case c.MinDelay < 0:
		return fmt.Errorf("config: MinDelay %v is negative", c.MinDelay)
	case c.MaxDelay < c.MinDelay:
		return fmt.Errorf("config: MaxDelay %v is less than MinDelay %v", c.MaxDelay, c.MinDelay)
	}
	return nil
}

func (c *RedialConfig) backOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = c.MinDelay, c.MaxDelay
	b.Multiplier, b.RandomizationFactor = 1.5, 0.5
	b.Reset()
	return b
}

// permanent reports whether a later attempt would fail in the same way: the peer speaks
// another version, or whoever answers is not the peer that was dialed.
func permanent(err error) bool {
	failure, ok := errors.AsType[*HandshakeError](err)
	if !ok {
		return false
	}
	switch failure.Code {
	case CodeVersionMismatch, CodeInvalidConfig, CodeHandshakeFailed, CodeHelloSignature, CodeManifestRefused:
		return true
	}
	return false
}

// hungUp reports whether the peer closed the connection instead of answering the hello.
func hungUp(err error) bool {
	failure, ok := errors.AsType[*HandshakeError](err)
	return ok && failure.Code == CodeTransport && errors.Is(err, io.EOF)
}
