package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/manifest"
)

// liveFlags are the flags about a live peer.
type liveFlags struct {
	settings
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
	flags.StringVar(&f.peer, "peer", "", "peer id of the peer to judge; empty takes whoever is met first (env SPOKE_PEER)")
	flags.StringVar(&f.key, "key", "", "private key file of this side; empty makes a key (env SPOKE_KEY)")
	flags.StringVar(&f.seed, "seed", "", "seed of this side's key, 64 hex digits, for test keys")
	flags.StringVar(&f.manifest, "manifest", "", "file with this side's manifest; empty mirrors the peer's")
	flags.StringVar(&f.tool, "tool", "", "tool to invoke; empty takes the first that is negotiated")
	flags.StringVar(&f.args, "args", "", "arguments of the tool as JSON; empty makes some from its schema")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait for a reaction (default 3s)")
	flags.DurationVar(&f.await, "await", time.Minute, "how long to wait for a dialer to connect")
	f.settings.register(flags)
}

// fill takes the key and the peer from the settings. The rest of them is about other
// commands: whom to dial stands in the command line, and what is empty here means
// something else than it does there.
func (f *liveFlags) fill(flags *pflag.FlagSet) error {
	if f.seed != "" {
		return f.settings.fillOnly(flags, "peer")
	}
	return f.settings.fillOnly(flags, "key", "peer")
}

// idle is the first flag that was given and is only for a live peer, "" for none.
func idle(flags *pflag.FlagSet) string {
	for _, name := range []string{"peer", "key", "seed", "manifest", "tool", "args", "timeout", "await"} {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

func (f *liveFlags) wanted() bool { return f.dial != "" || f.listen != "" }

// judge makes what meets the peer; done is for its end.
func (f *liveFlags) judge(cmd *cobra.Command) (j *judge, done func(), err error) {
	j = new(judge)
	if err := f.fill(cmd.Flags()); err != nil {
		return nil, nil, err
	}
	if j.Config, err = f.config(cmd.Context()); err != nil {
		return nil, nil, err
	}
	if f.dial != "" {
		if err := checkURL(f.dial); err != nil {
			return nil, nil, usagef("--dial: %w", err)
		}
		j.Role, j.where = live.Responder, "see that the host runs and listens at "+f.dial
		j.Open = func(ctx context.Context) (connect.Transport, error) {
			return ws.Dial(ctx, f.dial, &ws.DialOptions{HandshakeTimeout: f.timeout})
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "this side is %s\n", j.Identity.PeerID())
		return j, func() {}, nil
	}
	door, err := openDoor(f.listen, f.await)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "this side is %s\nwaiting for dialers at ws://%s\n", j.Identity.PeerID(), door.listener.Addr())
	j.Role, j.Open, j.where = live.Dialer, door.next, "let the dialer connect, and again whenever it is left; --await is how long to wait for it"
	return j, door.close, nil
}

// explained says of an error of the judge what only these flags know. An advice to allow
// own, this side's peer id, is in vain when its key was made for this run.
func (f *liveFlags) explained(err error, own connect.PeerID) error {
	if tool, ok := errors.AsType[*live.ToolError](err); ok {
		return usagef("--tool: %w", tool)
	}
	advised, ok := errors.AsType[*advisedError](err)
	if ok && f.madeUp() && strings.Contains(advised.next, string(own)) {
		return &advisedError{err, "the peer told nothing, as it does to peers that it does not know, and the key of this side was made for this run only; " +
			"\"spoke keygen -o FILE\" makes one to stay: let the peer allow that one, and give it with --key FILE"}
	}
	return err
}

// madeUp reports whether this side's key is a new one.
func (f *liveFlags) madeUp() bool { return f.key == "" && f.seed == "" }

func (f *liveFlags) config(ctx context.Context) (live.Config, error) {
	cfg := live.Config{Remote: connect.PeerID(f.peer), Tool: f.tool, Timeout: f.timeout}
	var err error
	if cfg.Identity, err = f.identity(ctx); err != nil {
		return cfg, err
	}
	if f.peer != "" {
		if _, err := connect.ParsePeerID(f.peer); err != nil {
			return cfg, usagef("--peer: %w", err)
		}
	}
	if f.tool != "" {
		if _, _, err := manifest.ParseToolID(f.tool); err != nil {
			return cfg, usagef("--tool: %w", err)
		}
	}
	if f.args != "" {
		cfg.Args = json.RawMessage(f.args)
		if _, err := connect.Canonicalize(cfg.Args); err != nil {
			return cfg, usagef("--args: %w", err)
		}
	}
	if f.manifest != "" {
		if cfg.Manifest, err = readFile(f.manifest); err != nil {
			return cfg, usagef("--manifest: %w", err)
		}
	}
	return cfg, nil
}

func (f *liveFlags) identity(ctx context.Context) (*connect.Identity, error) {
	switch {
	case f.key != "" && f.seed != "":
		return nil, usagef("--key and --seed exclude each other")
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
		return nil, usagef("--seed: %w", err)
	}
	id, err := connect.IdentityFromSeed(seed)
	if err != nil {
		return nil, usagef("--seed: %w", err)
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
		return nil, usagef("--listen: %w", err)
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
	select {
	case t := <-d.visitors:
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(d.await):
		return nil, fmt.Errorf("nobody connected within %v: %w", d.await, context.DeadlineExceeded)
	}
}

// close turns away who waits.
func (d *door) close() {
	d.server.Close()
	close(d.closed)
}
