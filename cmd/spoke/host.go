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

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/termtext"
	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
)

// hostServer accepts sessions over WebSocket and tells log who came and who was refused.
type hostServer struct {
	cfg  connect.ResponderConfig
	log  io.Writer
	wire bool

	ctx    context.Context // ends with serve
	mu     sync.Mutex
	closed bool
	visits sync.WaitGroup // grows only while not closed
}

// upgradeTimeout bounds the reading of a request's header.
const upgradeTimeout = 10 * time.Second

// serve lets dialers in until ctx ends, then ends every session and waits for it.
func (h *hostServer) serve(ctx context.Context, listener net.Listener) error {
	h.ctx = ctx
	server := &http.Server{Handler: h, ReadHeaderTimeout: upgradeTimeout}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(listener)
	h.close()
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return err
}

// admit counts a visit in, unless serve is over.
func (h *hostServer) admit() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.visits.Add(1)
	}
	return !h.closed
}

// close waits for the visits that were admitted.
func (h *hostServer) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.visits.Wait()
}

// ServeHTTP holds one session.
func (h *hostServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.admit() {
		http.Error(w, "the host is closing", http.StatusServiceUnavailable)
		return
	}
	defer h.visits.Done()
	transport, err := ws.Upgrade(w, r, nil)
	if err != nil {
		return // the request has its answer
	}
	var show func(wiretap.Frame)
	if h.wire {
		show = wirePrinter(h.log)
	}
	tap := wiretap.New(transport, false, show)
	session, err := connect.Accept(h.ctx, tap, h.cfg)
	if err != nil {
		h.refused(err, tap.Met())
		return
	}
	stop := context.AfterFunc(h.ctx, func() { session.Close() })
	defer stop()
	fmt.Fprintf(h.log, "%s connected (%s)\n", session.RemotePeerID(), termtext.Line(session.RemoteManifest().HostID))
	err = session.Wait()
	if ended(err) != nil {
		fmt.Fprintf(h.log, "%s left: %s\n", session.RemotePeerID(), termtext.Line(err.Error()))
		return
	}
	fmt.Fprintf(h.log, "%s left\n", session.RemotePeerID())
}

// refused says who was refused, and how to let a stranger in.
func (h *hostServer) refused(err error, claimed connect.PeerID) {
	fmt.Fprintf(h.log, "refused: %s\n", termtext.Line(err.Error()))
	if failure, ok := errors.AsType[*connect.HandshakeError](err); ok && failure.Code == connect.CodePeerNotAllowed && claimed != "" {
		fmt.Fprintf(h.log, "next: to let this peer in, add --allow %s\n", claimed)
	}
}
