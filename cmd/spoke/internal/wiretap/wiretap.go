// Package wiretap shows the frames of a session as they pass.
package wiretap

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/connect"
)

// Frame is one frame that passed, and what is to be said about it.
type Frame struct {
	transcript.Line
	// Out is true for a frame that this side sent.
	Out bool
	// Text is the frame as it was on the wire.
	Text []byte
}

// Tap is a transport that shows every frame before it is sent, and after it was
// received.
type Tap struct {
	connect.Transport
	dialer bool
	show   func(Frame)

	mu    sync.Mutex
	judge *transcript.Judge
	met   connect.PeerID
}

// New returns a tap on t. Dialer says that this side dialed. Show is called for one
// frame at a time; nil shows nothing.
func New(t connect.Transport, dialer bool, show func(Frame)) *Tap {
	return &Tap{Transport: t, dialer: dialer, show: show, judge: transcript.NewJudge()}
}

// Met returns the peer id that the other side's first frame claims, "" before it came.
// It is a claim: nothing was verified.
func (t *Tap) Met() connect.PeerID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.met
}

// Send implements [connect.Transport].
func (t *Tap) Send(ctx context.Context, frame []byte) error {
	t.pass(frame, true)
	return t.Transport.Send(ctx, frame)
}

// Recv implements [connect.Transport].
func (t *Tap) Recv(ctx context.Context) ([]byte, error) {
	frame, err := t.Transport.Recv(ctx)
	if err == nil {
		t.pass(frame, false)
	}
	return frame, err
}

// SetReadLimit implements [connect.ReadLimiter] for transports that do.
func (t *Tap) SetReadLimit(bytes int) {
	if limiter, ok := t.Transport.(connect.ReadLimiter); ok {
		limiter.SetReadLimit(bytes)
	}
}

// Finish implements [connect.Finisher] for transports that do.
func (t *Tap) Finish() error {
	if finisher, ok := t.Transport.(connect.Finisher); ok {
		return finisher.Finish()
	}
	return t.Close()
}

// Postpone implements [connect.Postponer] for transports that do.
func (t *Tap) Postpone() error {
	if postponer, ok := t.Transport.(connect.Postponer); ok {
		return postponer.Postpone()
	}
	return t.Close()
}

func (t *Tap) pass(frame []byte, out bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !out && t.met == "" {
		t.met = claimed(frame)
	}
	if t.show == nil {
		return
	}
	entry := transcript.Entry{From: transcript.FromResponder, Binary: true, Frame: string(frame)}
	if out == t.dialer {
		entry.From = transcript.FromDialer
	}
	t.show(Frame{t.judge.Next(entry), out, frame})
}

// claimed is the peer id in a hello, "" unless it is one.
func claimed(frame []byte) connect.PeerID {
	var hello struct {
		PeerID string `json:"peer_id"`
	}
	if json.Unmarshal(frame, &hello) != nil {
		return ""
	}
	peer, err := connect.ParsePeerID(hello.PeerID)
	if err != nil {
		return ""
	}
	return peer
}
