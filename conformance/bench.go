package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// role is which side of the handshake the peer under test is.
type role string

const (
	dialerRole    role = "dialer"
	responderRole role = "responder"
)

var bothRoles = []role{dialerRole, responderRole}

const (
	echoTool  = "tools.conformance.echo"
	probeTool = "tools.spoke.probe"
)

// seeds of the peers of a bench, as repeated bytes.
const (
	appSeed   = 0x63
	hostSeed  = 0x51
	otherSeed = 0x73
)

func identityOf(seed byte) (*connect.Identity, error) {
	return connect.IdentityFromSeed(bytes.Repeat([]byte{seed}, 32))
}

// bench is a session of this library's, the peer under test, and the peer at its other
// end that is driven by hand. Whoever dials has the key of the app.
type bench struct {
	session *connect.Session
	peer    *wire.Peer
	agreed  *wire.Handshake
}

// benchConfig adjusts a bench. The zero value is a session that shares the echo tool.
type benchConfig struct {
	// mine and theirs are the capabilities of the peer under test and of its other
	// end; nil means those of the echo tool. theirs may be of any JSON type.
	mine   []string
	theirs any
	absent bool // theirs is left out
	ops    []connect.Op
}

// openBench runs both halves of a handshake.
func openBench(ctx context.Context, under role, c benchConfig) (*bench, error) {
	cfg, far, err := c.peers(under)
	if err != nil {
		return nil, err
	}
	mine, theirs := connect.Pipe()
	b := &bench{peer: &wire.Peer{ID: far, Remote: cfg.Identity.PeerID(), Transport: theirs}}
	opened := make(chan error, 1)
	go func() { opened <- b.open(ctx, under, mine, cfg, far.PeerID()) }()
	err = b.shake(ctx, under, c.farManifest())
	if err != nil {
		theirs.Close()
	}
	if err := errors.Join(err, <-opened); err != nil {
		b.close()
		return nil, fmt.Errorf("no session: %w", err)
	}
	return b, nil
}

// peers returns the configuration of the peer under test and the other end's key.
func (c benchConfig) peers(under role) (connect.Config, *connect.Identity, error) {
	app, err := identityOf(appSeed)
	if err != nil {
		return connect.Config{}, nil, err
	}
	host, err := identityOf(hostSeed)
	if err != nil {
		return connect.Config{}, nil, err
	}
	me, far := host, app
	if under == dialerRole {
		me, far = app, host
	}
	return connect.Config{
		Identity: me, Manifest: manifestOf("under-test", c.mine), Allow: []connect.PeerID{far.PeerID()},
		Tools: spoke.ToolHandlers{echoTool: echoArguments}, Ops: c.ops, Nonces: connect.NewNonceStore(0),
	}, far, nil
}

// open is the half of the peer under test.
func (b *bench) open(ctx context.Context, under role, t connect.Transport, cfg connect.Config, far connect.PeerID) error {
	if under == dialerRole {
		adapter, err := connect.Dial(ctx, t, connect.DialConfig{Config: cfg, Remote: far})
		if err == nil {
			b.session = adapter.Session
		}
		return err
	}
	responder, err := connect.Accept(ctx, t, connect.ResponderConfig{Config: cfg})
	if err == nil {
		b.session = responder.Session
	}
	return err
}

// shake is the other end's half.
func (b *bench) shake(ctx context.Context, under role, host any) (err error) {
	if under == responderRole {
		b.agreed, err = b.peer.Dial(ctx, host)
		return err
	}
	if b.agreed, err = b.peer.Greet(ctx); err != nil {
		return err
	}
	return b.peer.Accept(ctx, b.agreed, host)
}

// close ends the session and waits for all of it.
func (b *bench) close() {
	if b.session != nil {
		b.session.Close()
		_ = b.session.Wait() // why it ended is the case's matter, not the cleanup's
	}
	b.peer.Transport.Close()
}

// invoke starts a call of the session's and returns how to wait for it.
func (b *bench) invoke(ctx context.Context, call func() (json.RawMessage, error)) func() (json.RawMessage, error) {
	type settled struct {
		value json.RawMessage
		err   error
	}
	done := make(chan settled, 1)
	go func() {
		value, err := call()
		done <- settled{value, err}
	}()
	return func() (json.RawMessage, error) {
		select {
		case s := <-done:
			return s.value, s.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// invokeEcho is invoke for the echo tool with {"n":1}.
func (b *bench) invokeEcho(ctx context.Context) func() (json.RawMessage, error) {
	return b.invoke(ctx, func() (json.RawMessage, error) {
		return b.session.InvokeTool(ctx, echoTool, json.RawMessage(`{"n":1}`))
	})
}

func echoArguments(_ context.Context, args json.RawMessage) (any, error) { return args, nil }

// eachRole judges a case with the peer under test in both roles.
func eachRole(check func(role) error) error {
	for _, under := range bothRoles {
		if err := check(under); err != nil {
			return within(err, "as %s", under)
		}
	}
	return nil
}

// manifestOf returns a manifest with the capabilities, and the tools among them; nil
// means the baseline and the echo tool.
func manifestOf(label string, capabilities []string) spoke.HostCapabilityManifest {
	if capabilities == nil {
		capabilities = []string{connect.CapabilityBaseline, echoTool}
	}
	m := spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion, HostID: label, Roles: []string{"input-source"}, Capabilities: capabilities,
		Namespaces: []string{"conformance"},
	}
	for _, id := range capabilities {
		if strings.HasPrefix(id, "tools.conformance.") {
			m.Tools = append(m.Tools, spoke.ToolDescriptor{SchemaVersion: spoke.SchemaVersion, CapabilityID: id, Op: id, Description: "Returns its arguments."})
		}
	}
	return m
}

// farManifest is the other end's manifest, in which capabilities may be anything.
func (c benchConfig) farManifest() any {
	if c.theirs == nil && !c.absent {
		return manifestOf("far-end", nil)
	}
	host := wire.Object{
		"schema_version": 1, "host_id": "far-end", "roles": []string{"input-source"},
		"namespaces": []string{"conformance"}, "extensions": wire.Object{},
	}
	if !c.absent {
		host["capabilities"] = c.theirs
	}
	return host
}

// detailsOf returns the details of a reject, nil for none.
func detailsOf(err error) map[string]any {
	if reject, ok := errors.AsType[*spoke.Reject](err); ok {
		return reject.Details
	}
	return nil
}
