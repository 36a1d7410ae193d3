package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Carrier is a transport that keeps the kind of a message; a ws.Transport is one.
type Carrier interface {
	SendMessage(ctx context.Context, frame []byte, binary bool) error
	RecvMessage(ctx context.Context) (frame []byte, binary bool, err error)
	Close() error
}

// Relay passes frames between a dialer and a responder and hands each to record before
// it passes it on. It returns when one of them hangs up, and closes the other: nil when
// that was a goodbye. An error of record ends the relay and is returned. Calls of record
// do not overlap. Ctx ends the relay early.
func Relay(ctx context.Context, dialer, responder Carrier, record func(Entry) error) error {
	r := &relay{record: record}
	stop := context.AfterFunc(ctx, func() { dialer.Close(); responder.Close() })
	defer stop()
	failures := make(chan error, 2)
	go func() { failures <- r.pass(ctx, FromDialer, dialer, responder) }()
	go func() { failures <- r.pass(ctx, FromResponder, responder, dialer) }()
	first := <-failures
	dialer.Close()
	responder.Close()
	<-failures
	if errors.Is(first, io.EOF) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return first
}

type relay struct {
	mu     sync.Mutex
	record func(Entry) error
}

// pass passes the frames of one side on until one of the transports fails.
func (r *relay) pass(ctx context.Context, from string, in, out Carrier) error {
	for {
		frame, binary, err := in.RecvMessage(ctx)
		if err != nil {
			return fmt.Errorf("from the %s: %w", from, err)
		}
		if err := r.keep(Entry{from, binary, string(frame)}); err != nil {
			return fmt.Errorf("record: %w", err)
		}
		if err := out.SendMessage(ctx, frame, binary); err != nil {
			return fmt.Errorf("to the peer of the %s: %w", from, err)
		}
	}
}

func (r *relay) keep(e Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record(e)
}
