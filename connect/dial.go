package connect

import (
	"context"
	"fmt"

	"github.com/spoke-peer/spoke-go/spoke"
)

// RemoteAdapter is a dialer's face of a session: it invokes the responder, drives its
// ports through the typed methods of [Ports], and serves the responder's invokes of this
// peer's tools. Everything else it does is [Session]'s.
type RemoteAdapter struct {
	*Session
	Ports
}

// GetHostCapabilityManifest returns the responder's authenticated manifest from the
// handshake, without a round trip; it is [Session.RemoteManifest].
//
// Source: wire spec, section 7.
func (a *RemoteAdapter) GetHostCapabilityManifest() spoke.HostCapabilityManifest {
	return a.RemoteManifest()
}

// Dial runs the initiator's half of the handshake over t and returns the established
// session. It takes over t: on failure t is closed, on success the session closes it.
// Ctx bounds the handshake only. Every failure is a [*HandshakeError].
//
// Source: wire spec, section 4.
func Dial(ctx context.Context, t Transport, cfg DialConfig) (*RemoteAdapter, error) {
	ep, check, err := newDialer(cfg)
	if err != nil {
		t.Close()
		return nil, refuse(CodeInvalidConfig, "%w", err)
	}
	return dialWith(ctx, t, ep, check)
}

// dialWith is [Dial] with a checked configuration.
func dialWith(ctx context.Context, t Transport, ep *endpoint, check HelloCheck) (*RemoteAdapter, error) {
	est, failure := runHandshake(ctx, t, ep, func(h *handshake) (*established, *HandshakeError) {
		return h.dial(check)
	})
	if failure != nil {
		ep.Metrics.HandshakeRefused(failure.Code)
		return nil, failure
	}
	s := newSession(ep, t, est, true)
	s.start()
	return &RemoteAdapter{Session: s, Ports: NewPorts(s)}, nil
}

// newDialer checks the configuration and finds the peer's key.
func newDialer(cfg DialConfig) (*endpoint, HelloCheck, error) {
	ep, err := newEndpoint(cfg.Config, nil)
	if err != nil {
		return nil, HelloCheck{}, err
	}
	check, err := cfg.remote()
	if err != nil {
		return nil, HelloCheck{}, err
	}
	if check.Peer == ep.Identity.PeerID() {
		return nil, HelloCheck{}, fmt.Errorf("config: the dialed peer has this peer's own key")
	}
	if !ep.roster.allows(check.Peer) {
		return nil, HelloCheck{}, fmt.Errorf("config: Allow does not contain the dialed peer %s", check.Peer)
	}
	return ep, check, ep.setTokens(cfg.Token, cfg.TokenSource, check.Peer)
}

// remote returns the peer to dial and its key.
func (c DialConfig) remote() (HelloCheck, error) {
	if c.RemoteKey == nil {
		if c.Remote == "" {
			return HelloCheck{}, fmt.Errorf("config: neither Remote nor RemoteKey")
		}
		key, err := c.Remote.PublicKey()
		if err != nil {
			return HelloCheck{}, fmt.Errorf("config: Remote: %w", err)
		}
		return HelloCheck{Peer: c.Remote, Key: key}, nil
	}
	peer, err := NewPeerID(c.RemoteKey)
	if err != nil {
		return HelloCheck{}, fmt.Errorf("config: RemoteKey: %w", err)
	}
	if c.Remote != "" && c.Remote != peer {
		return HelloCheck{}, fmt.Errorf("config: RemoteKey belongs to %s, not to Remote %s", peer, c.Remote)
	}
	return HelloCheck{Peer: peer, Key: c.RemoteKey}, nil
}
