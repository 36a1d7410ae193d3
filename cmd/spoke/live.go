package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
)

// liveFlags are the flags about a live peer.
type liveFlags struct {
	dial, listen   string
	peer           string
	key, seed      string
	manifest       string
	tool, args     string
	timeout, await time.Duration
}

func (f *liveFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dial, "dial", "", "judge the responder at this URL, such as ws://127.0.0.1:8787")
	flags.StringVar(&f.listen, "listen", "", "judge the dialer that connects to this address, such as 127.0.0.1:8787")
	flags.StringVar(&f.peer, "peer", "", "peer id of the peer to judge; empty takes whoever is met first")
	flags.StringVar(&f.key, "key", "", "private key file of this side; empty makes a key")
	flags.StringVar(&f.seed, "seed", "", "seed of this side's key, 64 hex digits, for test keys")
	flags.StringVar(&f.manifest, "manifest", "", "file with this side's manifest; empty mirrors the peer's")
	flags.StringVar(&f.tool, "tool", "", "tool to invoke; empty takes the first that is negotiated")
	flags.StringVar(&f.args, "args", "", "arguments of the tool as JSON; empty makes some from its schema")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait for a reaction (default 3s)")
	flags.DurationVar(&f.await, "await", time.Minute, "how long to wait for a dialer to connect")
}

func (f *liveFlags) wanted() bool { return f.dial != "" || f.listen != "" }

func (f *liveFlags) run(cmd *cobra.Command, asJSON bool) error {
	cfg, err := f.config(cmd.Context())
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "this side is %s\n", cfg.Identity.PeerID())
	if f.dial != "" {
		cfg.Role = live.Responder
		cfg.Open = func(ctx context.Context) (connect.Transport, error) { return ws.Dial(ctx, f.dial, nil) }
		return judge(cmd, cfg, asJSON)
	}
	door, err := openDoor(f.listen, f.await)
	if err != nil {
		return err
	}
	defer door.close()
	fmt.Fprintf(cmd.ErrOrStderr(), "waiting for dialers at ws://%s\n", door.listener.Addr())
	cfg.Role, cfg.Open = live.Dialer, door.next
	return judge(cmd, cfg, asJSON)
}

func judge(cmd *cobra.Command, cfg live.Config, asJSON bool) error {
	report, err := live.Run(cmd.Context(), cfg)
	if err != nil {
		return &connectError{err}
	}
	return show(cmd.OutOrStdout(), report, report.OK, asJSON)
}

func (f *liveFlags) config(ctx context.Context) (live.Config, error) {
	cfg := live.Config{Remote: connect.PeerID(f.peer), Tool: f.tool, Timeout: f.timeout}
	var err error
	if cfg.Identity, err = f.identity(ctx); err != nil {
		return cfg, err
	}
	if f.peer != "" {
		if _, err := connect.ParsePeerID(f.peer); err != nil {
			return cfg, usagef("-peer: %w", err)
		}
	}
	if f.args != "" {
		cfg.Args = json.RawMessage(f.args)
		if _, err := connect.Canonicalize(cfg.Args); err != nil {
			return cfg, usagef("-args: %w", err)
		}
	}
	if f.manifest != "" {
		if cfg.Manifest, err = os.ReadFile(f.manifest); err != nil {
			return cfg, usagef("-manifest: %w", err)
		}
	}
	return cfg, nil
}

func (f *liveFlags) identity(ctx context.Context) (*connect.Identity, error) {
	switch {
	case f.key != "" && f.seed != "":
		return nil, usagef("-key and -seed exclude each other")
	case f.key != "":
		return loadKey(ctx, f.key)
	case f.seed != "":
		return identityOfSeed(f.seed)
	}
	return connect.GenerateIdentity()
}

func identityOfSeed(text string) (*connect.Identity, error) {
	seed, err := hex.DecodeString(text)
	if err != nil {
		return nil, usagef("-seed: %w", err)
	}
	id, err := connect.IdentityFromSeed(seed)
	if err != nil {
		return nil, usagef("-seed: %w", err)
	}
	return id, nil
}

// door lets dialers in, one at a time.
type door struct {
	listener net.Listener
	server   *http.Server
	visitors chan connect.Transport
	await    time.Duration
	closed   chan struct{}
}

func openDoor(address string, await time.Duration) (*door, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	d := &door{listener: listener, visitors: make(chan connect.Transport), await: await, closed: make(chan struct{})}
	d.server = &http.Server{Handler: http.HandlerFunc(d.enter), ReadHeaderTimeout: await}
	go d.server.Serve(listener) // ends with close
	return d, nil
}

// enter waits until the script takes the connection, or turns it away.
func (d *door) enter(w http.ResponseWriter, r *http.Request) {
	t, err := ws.Upgrade(w, r, nil)
	if err != nil {
		return // the request has its answer
	}
	select {
	case d.visitors <- t:
	case <-time.After(d.await):
		t.Close()
	case <-d.closed:
		t.Close()
	}
}

func (d *door) next(ctx context.Context) (connect.Transport, error) {
	ctx, cancel := context.WithTimeout(ctx, d.await)
	defer cancel()
	select {
	case t := <-d.visitors:
		return t, nil
	case <-ctx.Done():
		return nil, usagef("nobody connected within %v", d.await)
	}
}

// close turns away who waits.
func (d *door) close() {
	d.server.Close()
	close(d.closed)
}
