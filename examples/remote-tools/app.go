package main

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
	"github.com/spoke-peer/spoke-go/tools/remotetool"
)

// app serves its screen to the hosts that dial it.
type app struct {
	provider *remotetool.Provider
	spoke    bool
	ops      []connect.Op

	mu      sync.Mutex
	closed  bool
	guests  map[guest]bool
	serving sync.WaitGroup
}

// guest is a connection of either carrier.
type guest interface {
	Close() error
	Wait() error
}

func newApp(spoke bool) (*app, error) {
	registry := tools.NewRegistry(tools.Config{Guard: tools.ReadWrite()})
	if err := registry.Register(newScreen().tools()...); err != nil {
		return nil, err
	}
	p := remotetool.NewProvider(registry, remotetool.ProviderConfig{})
	return &app{provider: p, spoke: spoke, ops: remotetool.Ops(p), guests: make(map[guest]bool)}, nil
}

// ServeHTTP takes one host in and serves it until it leaves.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	transport, err := ws.Upgrade(w, r, nil)
	if err != nil {
		return // the request has its answer
	}
	g, err := a.welcome(r.Context(), transport)
	if err != nil || !a.admit(g) {
		return
	}
	defer a.serving.Done()
	_ = g.Wait() // why a host leaves is its own affair
	a.mu.Lock()
	delete(a.guests, g)
	a.mu.Unlock()
}

// welcome opens the carrier on a connection.
func (a *app) welcome(ctx context.Context, transport *ws.Transport) (guest, error) {
	if !a.spoke {
		return remotetool.Open(transport.Conn(), remotetool.LinkConfig{Provider: a.provider})
	}
	host, err := identity(hostSeed)
	if err != nil {
		return nil, err
	}
	cfg, err := config(appSeed, "remote-tools-app", host.PeerID())
	if err != nil {
		return nil, err
	}
	cfg.Ops = a.ops
	return connect.Accept(ctx, transport, connect.ResponderConfig{Config: cfg})
}

func (a *app) admit(g guest) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		g.Close()
		return false
	}
	a.serving.Add(1)
	a.guests[g] = true
	return true
}

// close sends all guests away.
func (a *app) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for g := range a.guests {
		g.Close()
	}
}

func (a *app) wait() { a.serving.Wait() }

// The keys of the example are known to everybody. Never use them for anything else.
const (
	appSeed  = 0x61
	hostSeed = 0x62
)

func identity(seed byte) (*connect.Identity, error) {
	return connect.IdentityFromSeed(bytes.Repeat([]byte{seed}, 32))
}

// config is a session in which both sides have the capability for tools.
func config(seed byte, name string, peer connect.PeerID) (connect.Config, error) {
	id, err := identity(seed)
	return connect.Config{
		Identity: id, Allow: []connect.PeerID{peer}, Nonces: connect.NewNonceStore(0),
		Manifest: spoke.HostCapabilityManifest{
			SchemaVersion: spoke.SchemaVersion, HostID: name, Roles: []string{"input-source"},
			Capabilities: []string{connect.CapabilityBaseline, remotetool.Capability}, Namespaces: []string{"ui"},
		},
	}, err
}
