package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// base is a manifest without tools. Wants are the peer's tools that it will call.
func base(name string, wants ...string) spoke.HostCapabilityManifest {
	return spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion,
		HostID:        name,
		Roles:         []string{"input-source"},
		Capabilities:  append([]string{connect.CapabilityBaseline}, wants...),
		Namespaces:    []string{name},
	}
}

// link is a session between an app that offers the tools and a host that calls them,
// over a WebSocket on a loopback port.
type link struct {
	app    *connect.RemoteAdapter
	host   *connect.Responder
	server *http.Server
}

func connectPeers(ctx context.Context, offered *tools.Registry) (*link, error) {
	appID, err := connect.GenerateIdentity()
	if err != nil {
		return nil, err
	}
	hostID, err := connect.GenerateIdentity()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l, arrived := &link{}, make(chan error, 1)
	l.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- l.accept(w, r, hostID, appID.PeerID())
	})}
	go l.server.Serve(listener)
	err = l.dial(ctx, listener.Addr().String(), appID, hostID.PeerID(), offered)
	if err == nil {
		err = <-arrived // the host has answered, so it has arrived
	}
	if err != nil {
		l.server.Close()
		return nil, err
	}
	return l, nil
}

func (l *link) accept(w http.ResponseWriter, r *http.Request, id *connect.Identity, app connect.PeerID) error {
	transport, err := ws.Upgrade(w, r, nil)
	if err != nil {
		return err
	}
	l.host, err = connect.Accept(r.Context(), transport, connect.ResponderConfig{Config: connect.Config{
		Identity: id,
		Manifest: base("harbor", searchID, fetchID, queryID),
		Allow:    []connect.PeerID{app},
		Nonces:   connect.NewNonceStore(0),
	}})
	return err
}

func (l *link) dial(ctx context.Context, address string, id *connect.Identity, host connect.PeerID, offered *tools.Registry) error {
	transport, err := ws.Dial(ctx, "ws://"+address, nil)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	l.app, err = connect.Dial(ctx, transport, connect.DialConfig{
		Config: connect.Config{
			Identity: id,
			Manifest: offered.Describe(base("desk")),
			Allow:    []connect.PeerID{host},
			Tools:    offered,
		},
		Remote: host,
	})
	return err
}

func (l *link) close() {
	l.app.Close()
	l.app.Wait()
	l.host.Close()
	l.host.Wait()
	l.server.Close()
}
