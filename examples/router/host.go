package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// host accepts apps and registers each with its router.
type host struct {
	id       *connect.Identity
	router   *connect.Router
	url      string
	server   *http.Server
	arrivals chan *connect.Responder
	ctx      context.Context
	folder   string // of the key files
	apps     map[string]*exec.Cmd
}

// startHost listens on a loopback port. The keys of the apps are new every time.
func startHost(ctx context.Context, appTools ...string) (*host, error) {
	h := &host{
		router:   connect.NewRouter(connect.RouterConfig{HostID: "router example"}),
		arrivals: make(chan *connect.Responder),
		ctx:      ctx,
		apps:     make(map[string]*exec.Cmd),
	}
	var err error
	if h.id, err = connect.GenerateIdentity(); err != nil {
		return nil, err
	}
	if h.folder, err = os.MkdirTemp("", "router-example-"); err != nil {
		return nil, err
	}
	var allow []connect.PeerID
	for _, tool := range appTools {
		id, err := connect.CreateIdentity(h.keyFile(tool), nil)
		if err != nil {
			return nil, err
		}
		allow = append(allow, id.PeerID())
	}
	return h, h.listen(allow)
}

func (h *host) keyFile(tool string) string { return filepath.Join(h.folder, tool+".key") }

func (h *host) listen(allow []connect.PeerID) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.url = "ws://" + listener.Addr().String()
	cfg := connect.ResponderConfig{Config: connect.Config{
		Identity: h.id, Manifest: hostManifest(), Allow: allow, Nonces: connect.NewNonceStore(0),
	}}
	h.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := ws.Upgrade(w, r, nil)
		if err != nil {
			return // the request has its answer
		}
		if app, err := connect.Accept(r.Context(), transport, cfg); err == nil {
			h.arrive(app)
		}
	})}
	go h.server.Serve(listener)
	return nil
}

// arrive makes an app a candidate. Its session leaves the router by itself when it ends.
func (h *host) arrive(app *connect.Responder) {
	if err := h.router.Register(app); err != nil {
		app.Close()
		return
	}
	select {
	case h.arrivals <- app:
	case <-h.ctx.Done():
		app.Close()
	}
}

// hostManifest lists the tools of the apps as capabilities: what only one side lists is
// not negotiated.
func hostManifest() spoke.HostCapabilityManifest {
	m := toyworld.HostManifest()
	m.Capabilities = []string{connect.CapabilityBaseline}
	descriptors, _ := tools()
	for _, d := range descriptors {
		m.Capabilities = append(m.Capabilities, d.CapabilityID)
	}
	m.Tools = nil
	return m
}

// startApp starts the process with a tool and waits until it is a candidate.
func (h *host) startApp(tool string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	app := exec.CommandContext(h.ctx, program, tool, h.keyFile(tool), h.url, string(h.id.PeerID()))
	app.Stderr = os.Stderr
	if err := app.Start(); err != nil {
		return err
	}
	h.apps[tool] = app
	select {
	case <-h.arrivals:
		return nil
	case <-h.ctx.Done():
		return fmt.Errorf("the app with %s did not arrive: %w", tool, h.ctx.Err())
	}
}

// killApp ends the process with a tool without a warning.
func (h *host) killApp(tool string) error {
	app := h.apps[tool]
	delete(h.apps, tool)
	err := app.Process.Kill()
	_ = app.Wait() // it says that the process was killed
	return err
}

// close ends everything that the host started.
func (h *host) close() {
	for tool := range h.apps {
		_ = h.killApp(tool)
	}
	h.server.Close()
	os.RemoveAll(h.folder)
}
