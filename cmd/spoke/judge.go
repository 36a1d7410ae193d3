package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
)

// judge holds a live peer to the rules, and knows why one could not be met.
type judge struct {
	live.Config
	where string // what to do when nobody was reached
	heard *heard // the last connection, nil when there was none
	away  error  // why the last connection is none
}

// heard is a connection that keeps why it broke.
type heard struct {
	*wiretap.Tap
	mu    sync.Mutex
	broke error
}

// Send implements [connect.Transport].
func (h *heard) Send(ctx context.Context, frame []byte) error {
	return h.note(h.Tap.Send(ctx, frame))
}

// Recv implements [connect.Transport].
func (h *heard) Recv(ctx context.Context) ([]byte, error) {
	frame, err := h.Tap.Recv(ctx)
	return frame, h.note(err)
}

func (h *heard) note(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broke == nil {
		h.broke = err
	}
	return err
}

func (h *heard) why() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broke
}

// run judges the peer and shows the report.
func (j *judge) run(cmd *cobra.Command, f *conformanceFlags) error {
	open := j.Open
	j.Open = func(ctx context.Context) (connect.Transport, error) {
		t, err := open(ctx)
		if j.heard, j.away = nil, err; err != nil {
			return nil, err
		}
		j.heard = &heard{Tap: wiretap.New(t, j.Role == live.Responder, nil)}
		return j.heard, nil
	}
	var judged atomic.Int64
	j.Progress = func(live.Result) { judged.Add(1) }
	stop := progress(cmd.ErrOrStderr(), func() string { return fmt.Sprintf("%d rules judged", judged.Load()) })
	report, err := live.Run(cmd.Context(), j.Config)
	stop()
	if err != nil {
		return j.advise(err)
	}
	return f.show(cmd, report, report.OK)
}

// advise says why there was no session with the peer.
func (j *judge) advise(err error) error {
	if j.away != nil {
		return &connectError{&advisedError{fmt.Errorf("no session with the peer: %w", j.away), j.where}}
	}
	if j.heard == nil {
		return err
	}
	l, cfg := new(link), connect.DialConfig{Config: connect.Config{Identity: j.Identity}, Remote: j.Remote}
	met := j.heard.Met()
	if cfg.Remote == "" {
		cfg.Remote = met // whoever is met is the right one
	}
	return l.advise(j.failure(err), cfg, met)
}

// failure is a handshake's failure as the library tells it.
func (j *judge) failure(err error) error {
	broke := j.heard.why()
	f := &connect.HandshakeError{Kind: connect.HandshakeFailed, Code: connect.CodeHandshakeFailed, Err: err}
	_, told := errors.AsType[*connect.HandshakeError](err)
	switch {
	case told:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		f.Kind, f.Code = connect.HandshakeTimeout, connect.CodeTimeout
	case errors.Is(broke, io.EOF) || broke != nil && errors.Is(err, broke):
		f.Code = connect.CodeTransport
	}
	return f
}
