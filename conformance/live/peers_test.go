package live_test

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
)

// gullible is a peer that accepts every hello and session, and answers whatever has a
// request id with a signed success, as often as it comes.
func gullible(role live.Role) func(context.Context, *underTest, connect.Transport) {
	return func(ctx context.Context, u *underTest, t connect.Transport) {
		p := &wire.Peer{ID: u.id, Transport: t}
		defer t.Close()
		if role == live.Dialer {
			hello, err := p.Hello(uuid.NewString(), "", toyworld.HostManifest())
			if err != nil || p.Send(ctx, hello) != nil {
				return
			}
		} else if !welcome(ctx, p, u) {
			return
		}
		for answerAnything(ctx, p) {
		}
	}
}

// welcome answers whatever comes with a hello and a session that is always the same.
func welcome(ctx context.Context, p *wire.Peer, u *underTest) bool {
	text, err := p.Transport.Recv(ctx)
	if err != nil {
		return false
	}
	asked, err := wire.Parse(text)
	nonce := asked.TextOf("nonce")
	if err != nil || nonce == "" {
		nonce = "no-nonce-in-this-frame"
	}
	hello, err := p.Hello(uuid.NewString(), nonce, toyworld.HostManifest())
	if err != nil || p.Send(ctx, hello) != nil {
		return false
	}
	session := p.Session(u.judge.PeerID(), wire.Capabilities(hello))
	session["session_id"] = "always-the-same"
	_, err = p.SendSigned(ctx, session)
	return err == nil
}

// answerAnything answers the next frame, and reports whether there may be another.
func answerAnything(ctx context.Context, p *wire.Peer) bool {
	text, err := p.Transport.Recv(ctx)
	if err != nil {
		return false
	}
	f, err := wire.Parse(text)
	if err != nil || !f.Has("request_id") {
		return true
	}
	doc := f.Echo()
	doc["payload"] = wire.Object{"result": json.RawMessage(`{}`)}
	_, err = p.SendSigned(ctx, doc)
	return err == nil || ctx.Err() == nil
}

// faulty changes what an honest peer sends after its handshake, and signs it again
// where there is still a signature.
type faulty struct {
	connect.Transport
	id     *connect.Identity
	change func(frame string) []string
}

func (f *faulty) Send(ctx context.Context, frame []byte) error {
	sent, err := wire.Parse(frame)
	if err != nil || !sent.Has("request_id") || sent.Has("op") {
		return f.Transport.Send(ctx, frame)
	}
	for _, text := range f.change(string(frame)) {
		changed, err := wire.Parse([]byte(text))
		if err != nil {
			return err
		}
		if err := f.Transport.Send(ctx, f.sign(changed).Text); err != nil {
			return err
		}
	}
	return nil
}

func (f *faulty) sign(frame wire.Frame) wire.Frame {
	if !frame.Has("signature") {
		return frame
	}
	doc := wire.Object{}
	for name, value := range frame.Members {
		if name != "signature" && name != "extensions" {
			doc[name] = value
		}
	}
	signed, err := wire.Sign(f.id, doc)
	if err != nil {
		return frame
	}
	return signed
}

// other is a transport on which a member has another value wherever a frame has it.
type other struct {
	connect.Transport
	id     *connect.Identity
	member string
	value  json.RawMessage
}

func (o *other) Send(ctx context.Context, frame []byte) error {
	f, err := wire.Parse(frame)
	if err != nil || !f.Has(o.member) {
		return o.Transport.Send(ctx, frame)
	}
	f.Members[o.member] = o.value
	return o.Transport.Send(ctx, (&faulty{id: o.id}).sign(f).Text)
}
