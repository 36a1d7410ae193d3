package live

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// draft is a hello in the making.
type draft struct {
	id     *connect.Identity
	doc    wire.Object
	change string  // done after it was signed
	spoil  *damage // done to the text
}

func (d *draft) set(name string, value any) { d.doc[name] = value }

// hostMember sets a member of the manifest in the hello.
func (d *draft) hostMember(name string, value any) {
	host := wire.Object{}
	text, _ := d.doc["host"].(json.RawMessage)
	if json.Unmarshal(text, &host) == nil {
		host[name] = value
		d.doc["host"] = host
	}
}

func (d *draft) frame() (wire.Frame, error) {
	f, err := wire.Sign(d.id, d.doc)
	if err != nil {
		return f, err
	}
	if f, err = wire.Change(f, d.change); err != nil {
		return f, err
	}
	if d.spoil != nil {
		f = d.spoil.apply(f)
	}
	return f, nil
}

// variant is a hello that differs from an honest one.
type variant struct {
	name     string
	section  int
	stricter bool
	good     bool // it must be accepted
	make     func(*draft)
}

// helloRules are the rules about the hello that the peer under test receives.
func helloRules() []rule {
	variants := []variant{
		{"extensions of a hello are not signed", 4, false, true, func(d *draft) { d.change = "extensions" }},
		{"unknown members of a manifest survive", 3, false, true, func(d *draft) { d.hostMember("unknown", wire.Object{"a": nil, "n": json.RawMessage(`1.50`)}) }},
		{"a nonce of 15 characters is refused", 4, false, false, func(d *draft) { d.set("nonce", strings.Repeat("n", 15)) }},
		{"a nonce that is no text is refused", 4, false, false, func(d *draft) { d.set("nonce", []int{1}) }},
		{"a nonce of 129 characters is refused", 1, true, false, func(d *draft) { d.set("nonce", strings.Repeat("n", 129)) }},
	}
	for _, damage := range damages(256 << 10) {
		variants = append(variants, variant{"a frame ends the handshake: " + damage.name, 1, true, false, func(d *draft) {
			if damage.member != nil {
				d.hostMember("extensions", wire.Object{"conformance": wire.Object{"x": damage.member}})
			}
			d.spoil = &damage
		}})
	}
	return rulesOf(variants)
}

// strangeHelloRules are the rules about hellos that tell a dialer that another attempt
// would be in vain: of another version, or of somebody else. It may stay away from then on.
func strangeHelloRules() []rule {
	return rulesOf([]variant{
		{"a hello of protocol version 2 is refused", 4, false, false, func(d *draft) { d.set("protocol_version", 2) }},
		{"a hello of protocol version 0 is refused", 4, false, false, func(d *draft) { d.set("protocol_version", 0) }},
		{"a hello whose protocol version is a text is refused", 4, false, false, func(d *draft) { d.set("protocol_version", "1") }},
		{"a hello signed by another key is refused", 4, false, false, func(d *draft) { d.change = "other_key" }},
		{"a hello without a signature is refused", 4, false, false, func(d *draft) { d.change = "no_signature" }},
		{"a hello whose signature is a number is refused", 4, false, false, func(d *draft) { d.change = "number_signature" }},
		{"a hello with a padded signature is refused", 4, true, false, func(d *draft) { d.change = "padded_signature" }},
		{"a hello with an unknown member is refused", 4, true, false, func(d *draft) { d.change = "unknown_member" }},
		{"a hello of a stranger is refused", 4, false, false, beStranger},
		{"a hello that claims another peer is refused", 4, false, false, func(d *draft) { d.set("peer_id", "12D3KooWEfrNcYnd2HAbgsfjGxqn6Dcu6NwwQF5g4TjBmGdtmLTy") }},
		{"a hello whose manifest is a text is refused", 4, false, false, func(d *draft) { d.set("host", "host") }},
	})
}

func rulesOf(variants []variant) []rule {
	rules := make([]rule, len(variants))
	for i, v := range variants {
		rules[i] = v.rule()
	}
	return rules
}

// beStranger makes the hello an honest one of a peer that is on no list.
func beStranger(d *draft) {
	stranger, err := wire.Stranger()
	if err != nil {
		return
	}
	d.id = stranger
	d.set("peer_id", stranger.PeerID())
}

func (v variant) rule() rule {
	return rule{v.name, v.section, v.stricter, func(ctx context.Context, s *script) error {
		taken, err := s.greet(ctx, v.make)
		return v.judge(taken, err)
	}}
}

func (v variant) judge(taken bool, err error) error {
	switch {
	case err != nil:
		return err
	case v.good && !taken:
		return errRefused
	case !v.good && taken:
		return acceptedf("accepted")
	}
	return nil
}

// greet plays a handshake with a changed hello and reports whether the peer under test
// accepted it.
func (s *script) greet(ctx context.Context, change func(*draft)) (bool, error) {
	return s.meeting(ctx, func(c *conn, ctx context.Context) (bool, error) {
		if s.Role == Responder {
			return c.greetResponder(ctx, change)
		}
		return c.greetDialer(ctx, change, func(wire.Object) {}, "")
	})
}

// meeting opens a connection for one handshake. A peer that neither goes on nor hangs up
// is an error.
func (s *script) meeting(ctx context.Context, play func(*conn, context.Context) (bool, error)) (bool, error) {
	s.discard()
	c, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	defer c.Transport.Close()
	waiting, cancel := s.reaction(ctx)
	defer cancel()
	return play(c, waiting)
}

// sendHello sends a hello, changed, and reports whether it left: a peer that hung up
// before has refused it. An empty peerNonce makes an initiator's.
func (c *conn) sendHello(ctx context.Context, peerNonce string, change func(*draft)) (bool, error) {
	d := &draft{id: c.ID, doc: wire.Object{"protocol_version": 1, "peer_id": c.ID.PeerID(), "nonce": newNonce(), "host": c.script.host()}}
	if peerNonce != "" {
		d.set("peer_nonce", peerNonce)
	}
	change(d)
	hello, err := d.frame()
	return err == nil && c.Send(ctx, hello) == nil, err
}

// greetResponder sends an initiator's hello. A session in return means that it was
// accepted.
func (c *conn) greetResponder(ctx context.Context, change func(*draft)) (bool, error) {
	if sent, err := c.sendHello(ctx, "", change); !sent {
		return false, err
	}
	for {
		f, err := c.Recv(ctx)
		if closed(err) {
			return false, nil
		}
		if err != nil {
			return false, errUndecided
		}
		if f.Has("initiator_peer_id") {
			return true, nil
		}
	}
}

var errRefused = errors.New("refused")

var errUndecided = errors.New("neither accepted nor hung up")

// greetDialer answers a dialer's hello with a responder's hello and a session, each
// changed. An answer to a request in that session means that both were accepted.
func (c *conn) greetDialer(ctx context.Context, change func(*draft), session func(wire.Object), after string) (bool, error) {
	asked, err := c.Greet(ctx)
	if err != nil {
		return false, &skipped{err.Error(), true}
	}
	if sent, err := c.sendHello(ctx, asked.Hello.TextOf("nonce"), change); !sent {
		return false, err
	}
	doc := c.Session(c.Remote, c.script.snapshot(asked))
	session(doc)
	signed, err := wire.Sign(c.ID, doc)
	if err != nil {
		return false, err
	}
	if signed, err = wire.Change(signed, after); err != nil {
		return false, err
	}
	if c.Send(ctx, signed) != nil {
		return false, nil
	}
	c.SessionID = signed.TextOf("session_id")
	return c.alive(ctx)
}

// alive reports whether the peer answers a request, as opposed to hanging up.
func (c *conn) alive(ctx context.Context) (bool, error) {
	_, _, err := c.ask(ctx, c.honestRequest(0), "")
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() == nil:
		return false, nil
	}
	return false, errUndecided
}
