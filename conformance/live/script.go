package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// script is one run. It is for one goroutine.
type script struct {
	Config
	shared *conn // a session that rules share, nil when none is open
	met    *conn // the session of the first meeting, for rules about the handshake
	gone   error // what ended the wait for a connection that did not come
}

// conn is one connection with the peer under test.
type conn struct {
	*wire.Peer
	agreed *wire.Handshake
	script *script
	held   []wire.Frame // requests that are answered at the end
}

// timed ends a transport's wait with its context, also where the transport itself
// does not ask it.
type timed struct{ connect.Transport }

func (t timed) Recv(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { t.Close() })
	defer stop()
	frame, err := t.Transport.Recv(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return frame, err
}

// open returns a fresh connection. A peer that was waited for in vain is not waited for
// again.
func (s *script) open(ctx context.Context) (*conn, error) {
	if s.gone != nil {
		return nil, &skipped{fmt.Sprintf("no connection before: %v", s.gone), true}
	}
	t, err := s.Open(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.gone = err
	}
	if err != nil {
		return nil, &skipped{fmt.Sprintf("no connection: %v", err), true}
	}
	c := &conn{Peer: &wire.Peer{ID: s.Identity, Remote: s.Remote, Transport: timed{t}}, script: s}
	if s.Role == Dialer {
		c.Serve = c.hold
	}
	return c, nil
}

// hold keeps a dialer's request until the end of the connection: its application may
// hang up once it has what it came for.
func (c *conn) hold(_ context.Context, request wire.Frame) error {
	c.held = append(c.held, request)
	return nil
}

// end denies what was held and closes the connection.
func (c *conn) end(ctx context.Context) {
	for _, request := range c.held {
		if c.Deny(ctx, request) != nil {
			break
		}
	}
	c.Transport.Close()
}

// reaction returns a context for the wait for one reaction.
func (s *script) reaction(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.Timeout)
}

// session opens a connection and runs an honest handshake.
func (s *script) session(ctx context.Context) (*conn, error) {
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	waiting, cancel := s.reaction(ctx)
	defer cancel()
	if err := c.shake(waiting); err != nil {
		c.Transport.Close()
		return nil, fmt.Errorf("no session: %w", err)
	}
	return c, nil
}

func (c *conn) shake(ctx context.Context) (err error) {
	if c.script.Role == Responder {
		c.agreed, err = c.Dial(ctx, c.script.host())
		return err
	}
	if c.agreed, err = c.Greet(ctx); err != nil {
		return err
	}
	c.script.learn(c.agreed.Hello)
	return c.Accept(ctx, c.agreed, c.script.host())
}

// honest returns the session that rules share.
func (s *script) honest(ctx context.Context) (*conn, error) {
	if s.shared != nil {
		return s.shared, nil
	}
	c, err := s.session(ctx)
	s.shared = c
	return c, err
}

// discard ends the shared session.
func (s *script) discard() {
	if s.shared == nil {
		return
	}
	ending, cancel := s.reaction(context.Background())
	defer cancel()
	s.shared.end(ending)
	s.shared = nil
}

// meet runs the first handshake and learns what the peer offers. A responder is met
// twice: the manifest that mirrors its own can be made only after the first time.
func (s *script) meet(ctx context.Context) error {
	c, err := s.session(ctx)
	if err != nil {
		return err
	}
	s.Remote, s.met = c.Remote, c
	if s.Role == Dialer {
		s.shared = c
		return nil
	}
	s.learn(c.agreed.Hello)
	ending, cancel := s.reaction(ctx)
	defer cancel()
	c.end(ending)
	s.shared, err = s.session(ctx)
	return err
}

// learn makes the manifest that mirrors the peer's, and chooses the tool.
func (s *script) learn(hello wire.Frame) {
	theirs, _, err := manifest.Decode(hello.Members["host"])
	if err != nil {
		return
	}
	if s.Manifest == nil {
		s.Manifest = mirror(theirs)
	}
	var mine spoke.HostCapabilityManifest
	if json.Unmarshal(s.Manifest, &mine) != nil {
		return
	}
	s.chooseTool(manifest.ListTools(&theirs), manifest.Negotiate(mine.Capabilities, theirs.Capabilities))
}

// mirror returns a manifest with all capabilities and tools of another.
func mirror(theirs spoke.HostCapabilityManifest) json.RawMessage {
	mine := spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion, HostID: "conformance", Roles: []string{"input-source"},
		Capabilities: theirs.Capabilities, Namespaces: theirs.Namespaces, Tools: theirs.Tools,
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return nil
	}
	return text
}

// host is this side's manifest; before the peer's is known, one with the baseline.
func (s *script) host() json.RawMessage {
	if s.Manifest != nil {
		return s.Manifest
	}
	return json.RawMessage(`{"schema_version":1,"host_id":"conformance","roles":["input-source"],"capabilities":["spoke-baseline"],"namespaces":[],"extensions":{}}`)
}

// closed reports whether err means that the peer ended the connection, as opposed to
// a reaction that did not come.
func closed(err error) bool {
	return err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}
