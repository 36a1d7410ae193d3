package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// host lets the peers of a server in over WebSocket and tells log who came, who left and
// who was refused.
type host struct {
	server *connect.Server
	log    io.Writer
	wire   bool
	offer  *offer // what its grace is

	mu     sync.Mutex
	closed bool
	visits sync.WaitGroup // handshakes; grows only while not closed
}

const (
	// upgradeTimeout bounds the reading of a request's header.
	upgradeTimeout = 10 * time.Second
	// closeTimeout bounds the end of calls whose grace is over.
	closeTimeout = 5 * time.Second
)

func newHost(cfg connect.ServerConfig, log io.Writer) (*host, error) {
	h := &host{log: log}
	cfg.OnOpen, cfg.OnClose = h.came, h.left
	var err error
	h.server, err = connect.NewServer(cfg)
	return h, err
}

// serve lets dialers in until ctx ends, then lets the calls that run finish, and ends
// every session.
func (h *host) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: upgradeTimeout}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, h.shutdown())
}

// shutdown returns when nothing of the host is left.
func (h *host) shutdown() error {
	done := slow(h.log, h.offer.patience())
	err := h.drain()
	h.close()
	done()
	return err
}

// drain ends the sessions, each as it becomes idle and all of them after the grace.
func (h *host) drain() error {
	var late error
	if h.offer.grace > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), h.offer.grace)
		defer cancel()
		if err := h.server.Shutdown(ctx); err != nil {
			late = h.offer.tooLate(err)
		}
	}
	h.offer.ending.Store(true)
	h.server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := h.server.Shutdown(ctx)
	if late == nil {
		late = h.offer.hasCut()
	}
	return errors.Join(late, err)
}

// admit counts a visit in, unless serve is over.
func (h *host) admit() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.visits.Add(1)
	}
	return !h.closed
}

// close waits for the visits that were admitted.
func (h *host) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.visits.Wait()
}

// ServeHTTP opens one session, which lives on.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.admit() {
		turnAway(w)
		return
	}
	defer h.visits.Done()
	if err := h.server.Ready(); err != nil {
		h.refused(err)
		turnAway(w)
		return
	}
	transport, err := ws.Upgrade(w, r, nil)
	if err != nil {
		return // the request has its answer
	}
	if _, err := h.server.Accept(r.Context(), h.tapped(transport)); err != nil {
		h.refused(err)
	}
}

func turnAway(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "the host takes no connection now", http.StatusServiceUnavailable)
}

// tapped shows what passes if that is asked for.
func (h *host) tapped(t connect.Transport) connect.Transport {
	if !h.wire {
		return t
	}
	return wiretap.New(t, false, wirePrinter(h.log))
}

func (h *host) came(r *connect.Responder) {
	fmt.Fprintf(h.log, "%s connected (%s)\n", r.RemotePeerID(), termtext.Line(r.RemoteManifest().HostID))
}

func (h *host) left(r *connect.Responder, err error) {
	if ended(err) == nil || errors.Is(err, connect.ErrServerClosed) {
		fmt.Fprintf(h.log, "%s left\n", r.RemotePeerID())
		return
	}
	fmt.Fprintf(h.log, "%s left: %s\n", r.RemotePeerID(), termtext.Line(err.Error()))
}

// refused says who was refused, and what to do about it.
func (h *host) refused(err error) {
	fmt.Fprintf(h.log, "refused: %s\n", termtext.Line(err.Error()))
	failure, ok := errors.AsType[*connect.HandshakeError](err)
	switch {
	case !ok:
	case failure.Code == connect.CodeVersionMismatch:
		fmt.Fprintf(h.log, "next: %s\n", updateOlder)
	case failure.Code == connect.CodePeerNotAllowed:
		if stranger, err := connect.ParsePeerID(string(failure.Peer)); err == nil {
			fmt.Fprintf(h.log, "next: to let this peer in, add --allow %s\n", stranger)
		}
	}
}
