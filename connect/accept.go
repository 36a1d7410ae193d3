package connect

import "context"

// Responder is a host's face of a session: it serves the dialer's invokes, those of
// ports through Config.Ports, and reverse-invokes the tools that the dialer's manifest
// lists. Everything it does is [Session]'s.
type Responder struct{ *Session }

// Accept runs the responder's half of the handshake over t and returns the
// established session. It takes over t: on failure t is closed, on success the
// session closes it. Ctx bounds the handshake only. Every failure is a
// [*HandshakeError]. A peer that is not on the allowlist is refused before any
// signature work, and is told nothing.
//
// Source: wire spec, section 4.
func Accept(ctx context.Context, t Transport, cfg ResponderConfig) (*Responder, error) {
	ep, err := newResponder(cfg)
	if err != nil {
		t.Close()
		return nil, refuse(CodeInvalidConfig, "%w", err)
	}
	est, failure := runHandshake(ctx, t, ep, (*handshake).accept)
	if failure != nil {
		ep.Metrics.HandshakeRefused(failure.Code)
		return nil, failure
	}
	s := newSession(ep, t, est, cfg.SkipProofOfPossession)
	s.start()
	return &Responder{s}, nil
}

func newResponder(cfg ResponderConfig) (*endpoint, error) {
	ep, err := newEndpoint(cfg.Config, cfg.PeerKeys)
	if err != nil {
		return nil, err
	}
	return ep, ep.requireTokens(cfg.RequireCapabilityToken)
}
