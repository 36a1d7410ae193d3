package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
)

// echoTool is the tool of the pair's host, which returns its arguments.
const echoTool = "tools.spoke_bench.echo"

// The transports of a pair.
const (
	overWebSocket = "ws"
	overPipe      = "pipe"
)

// pair is a session between two peers in this process.
type pair struct {
	app  *connect.RemoteAdapter
	host *connect.Server
	web  *http.Server // nil in memory
}

// openPair opens a session over the transport for frames with so many bytes of payload;
// its host echoes.
func openPair(ctx context.Context, transport string, payload int) (*pair, error) {
	me, err := connect.GenerateIdentity()
	if err != nil {
		return nil, err
	}
	it, err := connect.GenerateIdentity()
	if err != nil {
		return nil, err
	}
	base := connect.Config{Manifest: baseManifest("spoke-bench", "spoke_bench")}
	base.Manifest.Capabilities = added(base.Manifest.Capabilities, echoTool)
	base.Limits.FrameBytes = max(4<<20, payload+64<<10)
	near, far := base, base
	near.Identity, near.Allow = me, []connect.PeerID{it.PeerID()}
	far.Identity, far.Allow, far.Tools = it, []connect.PeerID{me.PeerID()}, spoke.ToolHandlers{echoTool: echo}
	host, err := connect.NewServer(connect.ServerConfig{ResponderConfig: connect.ResponderConfig{Config: far}})
	if err != nil {
		return nil, err
	}
	p := &pair{host: host}
	if err := p.dial(ctx, transport, connect.DialConfig{Config: near, Remote: it.PeerID()}); err != nil {
		p.close()
		return nil, &connectError{err}
	}
	return p, nil
}

func (p *pair) dial(ctx context.Context, transport string, cfg connect.DialConfig) error {
	t, err := p.open(ctx, transport)
	if err != nil {
		return err
	}
	p.app, err = connect.Dial(ctx, t, cfg)
	return err
}

// open returns the near end of a connection with the host.
func (p *pair) open(ctx context.Context, transport string) (connect.Transport, error) {
	if transport == overPipe {
		near, far := connect.Pipe()
		go func() { _, _ = p.host.Accept(ctx, far) }() // the dialer is told as well
		return near, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.web = &http.Server{Handler: ws.Handler(p.host, nil), ReadHeaderTimeout: upgradeTimeout}
	go func() { _ = p.web.Serve(listener) }() // until close
	return ws.Dial(ctx, "ws://"+listener.Addr().String(), nil)
}

// close ends the session and waits for both sides of it.
func (p *pair) close() {
	if p.app != nil {
		p.app.Close()
		_ = p.app.Wait() // it ends by this side's close
	}
	_ = p.host.Close()
	_ = p.host.Shutdown(context.Background()) // without an end of its context it has no error
	if p.web != nil {
		_ = p.web.Close()
	}
}

func echo(_ context.Context, args json.RawMessage) (any, error) { return args, nil }
