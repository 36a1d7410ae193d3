package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// playRound is the host's own tool. While it is served, the host rolls the dice on the
// very app that called it.
const playRound = "tools.demo-harbor.play_round"

// host accepts apps on a loopback port and hands out what became of each.
type host struct {
	id       *connect.Identity
	listener net.Listener
	server   *http.Server
	arrivals chan arrival
}

// arrival is an app that connected, or why it was refused.
type arrival struct {
	app *connect.Responder
	err error
}

func startHost(allow ...connect.PeerID) (*host, error) {
	id, err := connect.GenerateIdentity()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &host{id: id, listener: listener, arrivals: make(chan arrival)}
	cfg := connect.ResponderConfig{Config: connect.Config{
		Identity: id,
		Manifest: hostManifest(),
		Allow:    allow,
		Nonces:   connect.NewNonceStore(0),
		Tools:    spoke.ToolHandlers{playRound: playRoundHandler},
	}}
	h.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := ws.Upgrade(w, r, nil)
		if err != nil {
			return // the request has its answer
		}
		app, err := connect.Accept(r.Context(), transport, cfg)
		h.arrivals <- arrival{app, err}
	})}
	go h.server.Serve(listener)
	return h, nil
}

func (h *host) url() string { return "ws://" + h.listener.Addr().String() + "/connect" }

func (h *host) close() { h.server.Close() }

// next waits for the next arrival.
func (h *host) next(ctx context.Context) (*connect.Responder, error) {
	select {
	case a := <-h.arrivals:
		return a.app, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hostManifest is the toy world's host with one tool of its own.
func hostManifest() spoke.HostCapabilityManifest {
	m := toyworld.HostManifest()
	m.Capabilities = append(m.Capabilities, playRound)
	m.Tools = append(m.Tools, spoke.ToolDescriptor{
		SchemaVersion: spoke.SchemaVersion,
		CapabilityID:  playRound,
		Op:            playRound,
		Description:   "Play one round: the host rolls the caller's dice.",
		Input:         json.RawMessage(`{"type":"object"}`),
		Output:        json.RawMessage(`{"type":"object","required":["rolled"]}`),
	})
	return m
}

// playRoundHandler reverse-invokes the caller's dice in the middle of its own work.
func playRoundHandler(ctx context.Context, _ json.RawMessage) (any, error) {
	app, ok := connect.SessionFromContext(ctx)
	if !ok {
		return nil, errors.New("not called by a session")
	}
	rolled, err := app.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 2, "sides": 6})
	if err != nil {
		return nil, err
	}
	return map[string]any{"rolled": rolled}, nil
}

// dialApp connects an app to the host and returns both ends of the session.
func dialApp(ctx context.Context, h *host, id *connect.Identity) (*connect.RemoteAdapter, *connect.Responder, error) {
	transport, err := ws.Dial(ctx, h.url(), nil)
	if err != nil {
		return nil, nil, err
	}
	// The app may use the host's tool, so its manifest lists the capability.
	m := toyworld.AppManifest()
	m.Capabilities = append(m.Capabilities, playRound)
	app, dialErr := connect.Dial(ctx, transport, connect.DialConfig{
		Config: connect.Config{Identity: id, Manifest: m, Allow: []connect.PeerID{h.id.PeerID()}},
		Remote: h.id.PeerID(),
	})
	accepted, acceptErr := h.next(ctx)
	if err := errors.Join(acceptErr, dialErr); err != nil {
		return nil, nil, fmt.Errorf("handshake: %w", err)
	}
	return app, accepted, nil
}
