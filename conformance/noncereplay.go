package conformance

import (
	"context"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// nonceCase is a row of hellos that one peer under test judges.
type nonceCase struct {
	Role     role        `json:"role"`
	Capacity int         `json:"capacity"`
	Hellos   []helloStep `json:"hellos"`
}

type helloStep struct {
	Peer   string `json:"peer"`
	Nonce  string `json:"nonce"`
	Forged bool   `json:"forged"`
	Code   string `json:"code"`
}

// nonceBench is what the hellos of a case have in common.
type nonceBench struct {
	config  connect.Config
	senders map[string]*connect.Identity
}

func checkNonceReplay(ctx context.Context, c nonceCase) error {
	b, err := newNonceBench(c)
	if err != nil {
		return err
	}
	for i, step := range c.Hellos {
		code, err := b.judge(ctx, c.Role, step)
		if err != nil {
			return err
		}
		if err := same("refusal", step.Code, code); err != nil {
			return within(err, "step %d", i+1)
		}
	}
	return nil
}

func newNonceBench(c nonceCase) (*nonceBench, error) {
	cfg, far, err := benchConfig{}.peers(c.Role)
	if err != nil {
		return nil, err
	}
	other, err := identityOf(otherSeed)
	if err != nil {
		return nil, err
	}
	cfg.Nonces = connect.NewNonceStore(c.Capacity)
	cfg.Allow = append(cfg.Allow, other.PeerID())
	return &nonceBench{cfg, map[string]*connect.Identity{"": far, "app": far, "other": other}}, nil
}

// judge plays one hello and returns why it was refused, "" when it was accepted.
func (b *nonceBench) judge(ctx context.Context, under role, step helloStep) (string, error) {
	sender, ok := b.senders[step.Peer]
	if !ok {
		return "", fmt.Errorf("unknown peer %q", step.Peer)
	}
	mine, theirs := connect.Pipe()
	defer theirs.Close()
	bench := &bench{peer: &wire.Peer{ID: sender, Remote: b.config.Identity.PeerID(), Transport: theirs}}
	opened := make(chan error, 1)
	go func() { opened <- bench.open(ctx, under, mine, b.config, sender.PeerID()) }()
	if err := step.play(ctx, under, bench.peer); err != nil {
		return "", err
	}
	code := handshakeCode(<-opened)
	bench.close()
	return code, nil
}

// play sends the hello, and behind a responder's hello its session.
func (s helloStep) play(ctx context.Context, under role, p *wire.Peer) error {
	peerNonce := ""
	if under == dialerRole {
		asked, err := p.Greet(ctx)
		if err != nil {
			return err
		}
		peerNonce = asked.Hello.TextOf("nonce")
	}
	hello, err := p.Hello(s.Nonce, peerNonce, manifestOf("far-end", nil))
	if err == nil && s.Forged {
		hello, err = wire.Change(hello, "other_key")
	}
	if err != nil {
		return err
	}
	if err := p.Send(ctx, hello); err != nil || under == responderRole {
		return err
	}
	// The dialer may have hung up over the hello; that is its verdict.
	_, _ = p.SendSigned(ctx, p.Session(p.Remote, nil))
	return nil
}
