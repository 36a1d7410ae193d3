package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/rfc3339"
	"github.com/spoke-peer/spoke-go/manifest"
)

func newNonce() string { return uuid.NewString() }

// snapshot is what a session with the sender of a hello negotiates.
func (s *script) snapshot(asked *wire.Handshake) []string {
	mine := wire.Capabilities(wire.Frame{Members: map[string]json.RawMessage{"host": s.host()}})
	return manifest.Negotiate(wire.Capabilities(asked.Hello), mine)
}

// responderRules are the rules about what a responder sends in a handshake.
func responderRules() []rule {
	return []rule{
		{"the hello answers our nonce and the session binds both peers", 4, false, func(context.Context, *script) error {
			return nil // without it there is no report
		}},
		{"the session lists what both manifests list, in the responder's order", 4, false, onSession((*conn).snapshotOrder)},
		{"the session was opened at an RFC 3339 time in UTC", 4, false, onSession((*conn).openedAt)},
		{"session ids are fresh", 4, true, freshSessionID},
		{"a hello is accepted once", 4, true, replayedHello},
		{"an initiator's hello with a peer_nonce is refused", 4, true, func(ctx context.Context, s *script) error {
			taken, err := s.greet(ctx, func(d *draft) { d.set("peer_nonce", newNonce()) })
			return variant{}.judge(taken, err)
		}},
	}
}

func (c *conn) snapshotOrder(context.Context) error {
	var told []string
	if err := json.Unmarshal(c.agreed.Session.Members["negotiated_capabilities"], &told); err != nil {
		return err
	}
	want := c.agreed.Negotiated
	if len(want) == 0 {
		want = []string{connect.CapabilityBaseline}
	}
	if !slices.Equal(told, want) {
		return fmt.Errorf("lists %v, not %v", told, want)
	}
	return nil
}

func (c *conn) openedAt(context.Context) error {
	text := c.agreed.Session.TextOf("opened_at")
	opened, err := rfc3339.Parse(text)
	if err != nil {
		return fmt.Errorf("opened_at %q: %w", text, err)
	}
	if _, offset := opened.Zone(); offset != 0 {
		return fmt.Errorf("opened_at %q is not in UTC", text)
	}
	return nil
}

func freshSessionID(ctx context.Context, s *script) error {
	c, err := s.honest(ctx)
	if err != nil {
		return err
	}
	if c.SessionID == s.met.SessionID {
		return acceptedf("two sessions have the id %s", c.SessionID)
	}
	return nil
}

// replayedHello sends the very bytes of a hello that was accepted.
func replayedHello(ctx context.Context, s *script) error {
	taken, err := s.greet(ctx, func(d *draft) {
		d.spoil = &damage{spoil: func([]byte) []byte { return s.met.agreed.Mine.Text }}
	})
	return variant{}.judge(taken, err)
}

// dialerRules are the rules about what a dialer accepts from a responder, and about
// its own requests.
func dialerRules() []rule {
	return []rule{
		{"a responder's nonce is accepted once", 4, true, func(ctx context.Context, s *script) error {
			taken, err := s.greet(ctx, func(d *draft) { d.set("nonce", s.met.agreed.Nonce) })
			if taken && err == nil {
				return acceptedf("accepted, as by every dialer that is a new process each time and has forgotten it")
			}
			return err
		}},
		opening("a session whose initial_sequence is 1 is refused", func(doc wire.Object) { doc["initial_sequence"] = 1 }, ""),
		opening("a session with an empty id is refused", func(doc wire.Object) { doc["session_id"] = "" }, ""),
		opening("a session between the peers the other way round is refused", func(doc wire.Object) {
			doc["initiator_peer_id"], doc["responder_peer_id"] = doc["responder_peer_id"], doc["initiator_peer_id"]
		}, ""),
		opening("a session signed by another key is refused", nil, "other_key"),
		opening("a session without a signature is refused", nil, "no_signature"),
		opening("a session with an unknown member is refused", nil, "unknown_member"),
		{"its first request has sequence 0, the session's id, and verifies", 5, false, ownRequest},
		{"an answer signed by another key fails that invoke only", 5, false, answering("other_key", nil)},
		{"an answer for another sequence fails that invoke only", 5, false, answering("", func(doc wire.Object) { doc["sequence"] = 7 })},
	}
}

// strangeAnswerRules are the strange hellos that only a dialer can get.
func strangeAnswerRules() []rule {
	return rulesOf([]variant{
		{"a responder's hello without a peer_nonce is refused", 4, false, false, func(d *draft) { delete(d.doc, "peer_nonce") }},
		{"a responder's hello with another peer_nonce is refused", 4, false, false, func(d *draft) { d.set("peer_nonce", newNonce()) }},
	})
}

// opening is a session envelope that a dialer must refuse.
func opening(name string, change func(wire.Object), after string) rule {
	if change == nil {
		change = func(wire.Object) {}
	}
	return rule{name, 4, false, func(ctx context.Context, s *script) error {
		taken, err := s.meeting(ctx, func(c *conn, ctx context.Context) (bool, error) {
			return c.greetDialer(ctx, func(*draft) {}, change, after)
		})
		return variant{}.judge(taken, err)
	}}
}

// firstRequest waits in a fresh session for the dialer's own first request.
func firstRequest(ctx context.Context, s *script) (*conn, wire.Frame, error) {
	s.discard()
	c, err := s.honest(ctx)
	if err != nil {
		return nil, wire.Frame{}, err
	}
	waiting, cancel := s.reaction(ctx)
	defer cancel()
	request, err := c.AwaitRequest(waiting)
	if err != nil {
		return nil, wire.Frame{}, &skipped{why: "the dialer invoked nothing"}
	}
	return c, request, nil
}

func ownRequest(ctx context.Context, s *script) error {
	c, request, err := firstRequest(ctx, s)
	if err != nil {
		return err
	}
	if first, ok := request.Number("sequence"); !ok || first != 0 {
		return fmt.Errorf("the first sequence is %s", request.Members["sequence"])
	}
	return c.VerifyBound(connect.RequestEnvelope, request)
}

// answering answers the dialer's first request wrongly; the session must stay usable.
// An application may well hang up when its invoke failed.
func answering(after string, change func(wire.Object)) func(context.Context, *script) error {
	return func(ctx context.Context, s *script) error {
		c, request, err := firstRequest(ctx, s)
		if err != nil {
			return err
		}
		waiting, cancel := s.reaction(ctx)
		defer cancel()
		if err := c.answerWrongly(waiting, request, after, change); err != nil {
			return err
		}
		if err := c.served(waiting); closed(err) {
			return &skipped{why: "the dialer hung up, which its application may do"}
		} else if err != nil {
			return err
		}
		return nil
	}
}

func (c *conn) answerWrongly(ctx context.Context, request wire.Frame, after string, change func(wire.Object)) error {
	doc := request.Echo()
	doc["payload"] = wire.Object{"result": wire.Object{}}
	if change != nil {
		change(doc)
	}
	f, err := wire.Sign(c.ID, doc)
	if err != nil {
		return err
	}
	if f, err = wire.Change(f, after); err != nil {
		return err
	}
	return c.Send(ctx, f)
}
