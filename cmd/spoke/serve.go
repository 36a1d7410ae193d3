package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/sqlitestore"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/spoke"
)

// serveFlags are the flags of spoke serve.
type serveFlags struct {
	output
	settings
	offer
	listen, key, manifest, ports string
	allow, allowFiles            []string
	wire, verbose                bool
	maxSessions                  int
	second                       string
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a host that serves ports and offers commands as tools",
		Long: `serve waits for dialers that are allowed and serves each of them. --ports toy serves a
small world in memory with its two tools, --ports sqlite:FILE keeps that world in a file.
A command of --exec is split into words as a shell does, but is not run by one. It gets
SPOKE_TOOL and SPOKE_CALLER, the peer id of the caller; a status other than 0 is a refusal
with the last line of its stderr. A tool that the manifest describes is offered so.

An interrupt ends it: nothing new is accepted, and calls that run have --grace to finish.
The exit status is 4 if some did not, else 0. A second interrupt, or the end of its
terminal, ends it at once, with the calls that run and status 130.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.of(cmd)
			f.err = &shared{Writer: f.err}
			if err := f.fill(cmd.Flags()); err != nil {
				return err
			}
			return f.run(cmd.Context())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *serveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8787", "address to listen on; port 0 takes a free one")
	flags.StringVar(&f.key, "key", "", "private key file of this host (env SPOKE_KEY)")
	flags.StringSliceVar(&f.allow, "allow", nil, "peer id to let in; may be given again")
	flags.StringArrayVar(&f.allowFiles, "allow-file", nil, "file with a peer id or an ssh-ed25519 line on each line")
	flags.StringVar(&f.manifest, "manifest", "", "manifest of this host; empty makes one (env SPOKE_MANIFEST)")
	flags.StringVar(&f.ports, "ports", "", "what to serve: toy, or sqlite:FILE")
	flags.IntVar(&f.maxSessions, "max-sessions", 0, "how many sessions there may be at once; 0 for the library's limit")
	flags.StringVar(&f.second, "second", "allow", "a second session of a peer: allow it, refuse it, or replace the first")
	flags.BoolVar(&f.wire, "wire", false, "print every envelope, and whether its signature is valid, to stderr")
	flags.BoolVar(&f.verbose, "verbose", false, "print what the library logs to stderr")
	f.offer.register(flags)
	f.settings.register(flags)
	f.output.register(flags)
}

func (f *serveFlags) run(ctx context.Context) error {
	world, closeWorld, err := f.world(ctx)
	if err != nil {
		return err
	}
	defer closeWorld()
	cfg, err := f.config(ctx, world)
	if err != nil {
		return err
	}
	h, err := newHost(cfg, f.err)
	if err != nil {
		return &usageError{err}
	}
	h.wire, h.offer = f.wire, &f.offer
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	if err := f.facts([2]string{"peer id", string(cfg.Identity.PeerID())}, [2]string{"url", "ws://" + listener.Addr().String()}); err != nil {
		return errors.Join(err, listener.Close())
	}
	return settled(h.serve(ctx, listener))
}

// world opens what --ports names; nil for nothing.
func (f *serveFlags) world(ctx context.Context) (*toyworld.World, func() error, error) {
	nothing := func() error { return nil }
	file, isFile := strings.CutPrefix(f.ports, "sqlite:")
	switch {
	case f.ports == "":
		return nil, nothing, nil
	case f.ports == "toy":
		world, err := toyworld.NewWorld(toyworld.HarborCorpus())
		return world, nothing, err
	case !isFile || file == "":
		return nil, nothing, usagef("--ports is toy or sqlite:FILE, not %q", f.ports)
	}
	store, err := sqlitestore.Open(ctx, file)
	if err != nil {
		return nil, nothing, usagef("--ports: %w", err)
	}
	world, err := toyworld.OpenWorld(ctx, store, toyworld.HarborCorpus())
	if err != nil {
		return nil, nothing, usagef("--ports: %w", errors.Join(err, store.Close()))
	}
	return world, store.Close, nil
}

// seconds are the values of --second.
var seconds = map[string]connect.SecondSession{
	"allow": connect.AllowSecond, "refuse": connect.RefuseSecond, "replace": connect.ReplaceFirst,
}

func (f *serveFlags) config(ctx context.Context, world *toyworld.World) (cfg connect.ServerConfig, err error) {
	if f.key == "" {
		return cfg, usagef("no private key: give --key, SPOKE_KEY or a profile; \"spoke keygen -o FILE\" makes one")
	}
	if cfg.Identity, err = loadKey(ctx, f.key); err != nil {
		return cfg, err
	}
	if cfg.Allow, err = f.allowed(); err != nil {
		return cfg, err
	}
	base, err := f.describe(world)
	if err != nil {
		return cfg, err
	}
	var builtin spoke.ToolHandlers
	if world != nil {
		builtin, cfg.Ports = world.Tools(), world
	}
	f.offer.begin(ctx, f.err)
	own, err := f.registry(base, builtin, f.note)
	if err != nil {
		return cfg, err
	}
	cfg.Manifest, cfg.Tools = own.Describe(base), own
	if f.verbose {
		cfg.Logger = slog.New(slog.NewTextHandler(f.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return cfg, f.limits(&cfg)
}

// limits sets what all peers together may have.
func (f *serveFlags) limits(cfg *connect.ServerConfig) error {
	var ok bool
	if cfg.Second, ok = seconds[f.second]; !ok {
		return usagef("--second is allow, refuse or replace, not %q", f.second)
	}
	if f.maxSessions < 0 {
		return usagef("--max-sessions is at least 0, not %d", f.maxSessions)
	}
	cfg.ServerLimits.Sessions = f.maxSessions
	cfg.ServerLimits.Penalty = -1 // who debugs a peer breaks rules and comes back at once
	return nil
}

// describe is what the host says about itself, but for its commands.
func (f *serveFlags) describe(world *toyworld.World) (spoke.HostCapabilityManifest, error) {
	switch {
	case f.manifest != "":
		return loadManifest(f.manifest)
	case world != nil:
		return toyworld.WithEveryPort(toyworld.HostManifest()), nil
	}
	return baseManifest("spoke-serve", "spoke_serve"), nil
}

func (f *serveFlags) allowed() (list []connect.PeerID, err error) {
	for _, text := range f.allow {
		peer, err := connect.ParsePeerID(text)
		if err != nil {
			return nil, usagef("--allow: %w", err)
		}
		list = append(list, peer)
	}
	for _, path := range f.allowFiles {
		text, err := readFile(path)
		if err != nil {
			return nil, usagef("--allow-file: %w", err)
		}
		peers, err := connect.ParseAllowlist(bytes.NewReader(text))
		if err != nil {
			return nil, usagef("--allow-file: %s: %w", path, err)
		}
		list = append(list, peers...)
	}
	if len(list) == 0 {
		fmt.Fprintln(f.err, "nobody is allowed; a peer that dials is shown here with the --allow that lets it in")
	}
	return list, nil
}

func (f *serveFlags) note(c call) {
	fmt.Fprintf(f.err, "%s called %s\n", c.Peer, termtext.Line(c.line()))
}
