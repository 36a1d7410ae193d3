package story

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// HostConfig says what a [Host] is like.
type HostConfig struct {
	// World is what every app talks to. Nil gives each app a new world in memory, so
	// that the story can be told again.
	World *toyworld.World
	// BaselineOnly leaves the optional capabilities out of the manifest.
	BaselineOnly bool
	// Out gets a line for everything that happens. Nil discards it.
	Out io.Writer
}

// Host accepts the demo app. It is an [http.Handler] for WebSocket upgrades. Safe for
// concurrent use.
type Host struct {
	cfg     HostConfig
	connect connect.ResponderConfig

	mu     sync.Mutex
	rolls  []Roll
	closed bool
	open   map[*connect.Responder]bool
	ended  sync.WaitGroup
}

// NewHost returns a host that allows the demo app. Close it when no more apps are let in.
func NewHost(cfg HostConfig) (*Host, error) {
	id, err := HostIdentity()
	if err != nil {
		return nil, err
	}
	app, err := AppIdentity()
	if err != nil {
		return nil, err
	}
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	return &Host{cfg: cfg, open: map[*connect.Responder]bool{}, connect: connect.ResponderConfig{Config: connect.Config{
		Identity: id,
		Manifest: hostManifest(cfg.BaselineOnly),
		Allow:    []connect.PeerID{app.PeerID()},
		Nonces:   connect.NewNonceStore(0), // one for all sessions
	}}}, nil
}

func hostManifest(baselineOnly bool) spoke.HostCapabilityManifest {
	if baselineOnly {
		return toyworld.HostManifest()
	}
	return toyworld.WithEveryPort(toyworld.HostManifest())
}

// ServeHTTP implements [http.Handler]: it holds one session, and returns when that ended.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	transport, err := ws.Upgrade(w, r, nil)
	if err != nil {
		return // the request has its answer
	}
	app, err := h.accept(r.Context(), transport)
	if err != nil {
		h.say("refused somebody: %v", err)
		return
	}
	defer h.ended.Done()
	h.say("%s connected", app.RemotePeerID())
	err = app.Wait()
	h.mu.Lock()
	delete(h.open, app)
	h.mu.Unlock()
	h.say("%s left: %v", app.RemotePeerID(), err)
}

// accept lets one app in; every session gets a provider of its own.
func (h *Host) accept(ctx context.Context, transport connect.Transport) (*connect.Responder, error) {
	world := h.cfg.World
	if world == nil {
		var err error
		if world, err = toyworld.NewWorld(toyworld.HarborCorpus()); err != nil {
			transport.Close()
			return nil, err
		}
	}
	cfg := h.connect
	cfg.Ports = orchestrator{World: world, record: h.note}
	cfg.Tools = world.Tools()
	app, err := connect.Accept(ctx, transport, cfg)
	if err != nil {
		return nil, err
	}
	if !h.admit(app) {
		app.Close()
		app.Wait()
		return nil, http.ErrServerClosed
	}
	return app, nil
}

// admit counts a session among those that Close ends, false after Close.
func (h *Host) admit(app *connect.Responder) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.open[app] = true
	h.ended.Add(1)
	return true
}

// note keeps what became of a roll.
func (h *Host) note(r Roll) {
	h.mu.Lock()
	h.rolls = append(h.rolls, r)
	h.mu.Unlock()
	h.say("the app offers [%s]", strings.Join(r.Offered, ", "))
	if r.Err != nil {
		h.say("asked it for two dice in vain, and stored none: %v", r.Err)
		return
	}
	h.say("asked it for two dice: %v, %d in all; stored as %s", r.Result.Rolls, r.Result.Total, r.Stored)
}

// Rolls returns what became of every attempt to roll dice on an app.
func (h *Host) Rolls() []Roll {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Roll(nil), h.rolls...)
}

// PeerID returns the host's peer id.
func (h *Host) PeerID() connect.PeerID { return h.connect.Identity.PeerID() }

// Close ends every session, waits until they are over, and lets nobody in any more.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	for app := range h.open {
		app.Close()
	}
	h.mu.Unlock()
	h.ended.Wait()
}

func (h *Host) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.cfg.Out, format+"\n", args...)
}
