package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// link is a connection to a peer that a command line asks for.
type link struct {
	output
	settings
	url, key, peer, manifest string
	timeout                  time.Duration
	wire                     bool
	unattended               bool // nobody can be asked for a passphrase
}

const defaultTimeout = 10 * time.Second

func (l *link) register(flags *pflag.FlagSet) {
	flags.StringVar(&l.url, "url", "", "URL of the peer, ws:// or wss:// (env SPOKE_URL)")
	flags.StringVar(&l.key, "key", "", "private key file of this side (env SPOKE_KEY)")
	flags.StringVar(&l.peer, "peer", "", "peer id of the peer (env SPOKE_PEER)")
	flags.StringVar(&l.manifest, "manifest", "", "manifest of this side; empty makes one that asks for what the command needs (env SPOKE_MANIFEST)")
	flags.DurationVar(&l.timeout, "timeout", defaultTimeout, "how long to wait for the connection and for each answer (env SPOKE_TIMEOUT)")
	flags.BoolVar(&l.wire, "wire", false, "print every envelope, and whether its signature is valid, to stderr")
	l.settings.register(flags)
	l.output.register(flags)
}

// begin reads the settings and takes the URL from the arguments if it stands there.
func (l *link) begin(cmd *cobra.Command, args []string) ([]string, error) {
	l.of(cmd)
	l.err = &shared{Writer: l.err}
	if len(args) > 0 && looksLikeURL(args[0]) {
		if err := checkURL(args[0]); err != nil {
			return nil, &usageError{err}
		}
		l.url, args = args[0], args[1:]
		if err := cmd.Flags().Set("url", l.url); err != nil {
			return nil, err
		}
	}
	if err := l.fill(cmd.Flags()); err != nil {
		return nil, err
	}
	if l.timeout <= 0 {
		return nil, usagef("--timeout: %v is no time to wait, give one above 0", l.timeout)
	}
	return args, nil
}

// beginAlone is begin for a command that takes nothing but a URL.
func (l *link) beginAlone(cmd *cobra.Command, args []string) error {
	rest, err := l.begin(cmd, args)
	if err == nil && len(rest) > 0 {
		return usagef("%q is not a URL", rest[0])
	}
	return err
}

// looksLikeURL reports whether a word is meant as a URL, perhaps not as one of a peer.
func looksLikeURL(text string) bool { return strings.Contains(text, "://") }

func isURL(text string) bool {
	return strings.HasPrefix(text, "ws://") || strings.HasPrefix(text, "wss://")
}

// checkURL judges the form of a peer's URL. Its errors show no password.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"):
		return errors.New("cannot parse the URL of the peer") // any part of it may be the password
	case err != nil:
		return err
	case !isURL(text) || u.Host == "":
		return fmt.Errorf("%q is no URL of a peer, ws://HOST:PORT or wss://HOST", u.Redacted())
	case u.User != nil:
		return fmt.Errorf("%q has a user in it, with which no WebSocket can be opened: leave out what stands before the @", u.Redacted())
	case !isPort(u.Port()):
		return fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	return nil
}

// isPort reports whether a URL may have the port; "" is the one of its scheme.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && port > 0
}

// open connects. Wants are tools of the peer's that this side will call; a tool can be
// called only if both sides list it.
func (l *link) open(ctx context.Context, wants ...string) (*connect.RemoteAdapter, error) {
	cfg, err := l.dialConfig(ctx, nil, wants)
	if err != nil {
		return nil, err
	}
	done := slow(l.err, "connecting to "+l.url)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	tap, err := l.reach(ctx)
	if err != nil {
		return nil, l.advise(err, cfg, "")
	}
	adapter, err := connect.Dial(ctx, tap, cfg)
	if err != nil {
		return nil, l.advise(err, cfg, tap.Met())
	}
	return adapter, nil
}

// reach opens a connection to the host, without a session.
func (l *link) reach(ctx context.Context) (*wiretap.Tap, error) {
	transport, err := ws.Dial(ctx, l.url, &ws.DialOptions{HandshakeTimeout: l.timeout})
	if err != nil {
		return nil, err
	}
	return wiretap.New(transport, true, l.frames()), nil
}

func (l *link) frames() func(wiretap.Frame) {
	if !l.wire {
		return nil
	}
	return wirePrinter(l.err)
}

func (l *link) dialConfig(ctx context.Context, own *tools.Registry, wants []string) (cfg connect.DialConfig, err error) {
	if l.url == "" {
		return cfg, usagef("no URL of a peer: give ws://HOST:PORT or wss://HOST, --url, SPOKE_URL or a profile")
	}
	if err := checkURL(l.url); err != nil {
		return cfg, &usageError{err}
	}
	if l.key == "" {
		return cfg, usagef("no private key: give --key, SPOKE_KEY or a profile; \"spoke keygen -o FILE\" makes one")
	}
	if l.peer == "" {
		return cfg, usagef("no peer id of the peer: give --peer, SPOKE_PEER or a profile; the host prints it")
	}
	if cfg.Identity, err = l.identity(ctx); err != nil {
		return cfg, err
	}
	if cfg.Remote, err = connect.ParsePeerID(l.peer); err != nil {
		return cfg, usagef("--peer: %w", err)
	}
	if cfg.Manifest, err = l.ownManifest(own, wants); err != nil {
		return cfg, err
	}
	if own != nil {
		cfg.Tools = own
	}
	cfg.Allow = []connect.PeerID{cfg.Remote}
	cfg.HandshakeTimeout, cfg.InvokeTimeout = l.timeout, l.timeout
	return cfg, nil
}

// identity is the key of this side.
func (l *link) identity(ctx context.Context) (*connect.Identity, error) {
	if l.unattended {
		return readKey(l.key, passphrase())
	}
	return loadKey(ctx, l.key)
}

// ownManifest is this side's manifest: the file's or a plain one, with what is wanted
// and what is offered.
func (l *link) ownManifest(own *tools.Registry, wants []string) (spoke.HostCapabilityManifest, error) {
	m := baseManifest("spoke-cli", "spoke_cli")
	m.Capabilities = added(m.Capabilities, connect.CapabilityComputable, connect.CapabilityFork)
	if l.manifest != "" {
		var err error
		if m, err = loadManifest(l.manifest); err != nil {
			return m, err
		}
	}
	m.Capabilities = added(m.Capabilities, wants...)
	if own != nil {
		m = own.Describe(m)
	}
	return m, nil
}

// loadManifest reads a manifest that must have no problem.
func loadManifest(path string) (m spoke.HostCapabilityManifest, err error) {
	text, err := readFile(path)
	if err != nil {
		return m, &usageError{err}
	}
	if problems := manifest.ValidateOwn(text); len(problems) > 0 {
		return m, &usageError{&advisedError{
			fmt.Errorf("%s: %s", path, problems[0]), "\"spoke manifest check " + path + "\" shows every problem and where it is",
		}}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, usagef("%s: %w", path, err)
	}
	return m, nil
}

// explained says what to do about a tool or a port that the peer refused.
func (l *link) explained(err error, s *connect.Session, op string) error {
	reject, ok := errors.AsType[*spoke.Reject](err)
	if !ok || reject.Code != spoke.CodeCapabilityPortMissing {
		return err
	}
	needs, known := connect.RequiredCapability(op)
	if !known || slices.Contains(s.NegotiatedCapabilities(), needs) {
		return err
	}
	if !slices.Contains(s.RemoteManifest().Capabilities, needs) {
		return &advisedError{err, "the peer does not have capability " + needs + "; \"spoke tools\" and \"spoke manifest show\" list what it has"}
	}
	return &advisedError{err, "add capability " + needs + " to this side's manifest"}
}

// with opens a session for one piece of work and closes it.
func (l *link) with(ctx context.Context, work func(*connect.RemoteAdapter) error, wants ...string) error {
	adapter, err := l.open(ctx, wants...)
	if err != nil {
		return err
	}
	defer func() {
		adapter.Close()
		_ = adapter.Wait() // this side closed it
	}()
	return work(adapter)
}
