package connect

import (
	"fmt"
	"time"

	"github.com/spoke-peer/spoke-go/spoke"
)

// ServerConfig is [ResponderConfig] and what only a host of many peers decides. Allow
// and PeerKeys are where the server starts; they can be changed while it runs.
type ServerConfig struct {
	ResponderConfig

	// Peer returns what one peer is served, after it was verified and before it is
	// answered. Nil, and nil fields of what it returns, mean the same for all peers.
	// It must not wait for the peer.
	Peer func(PeerID) PeerOptions

	// OnOpen is told of each session, once it is listed and works; the peer's requests
	// may be served already. OnClose is told after nothing of the session runs any
	// more, with what [Session.Wait] returned. For one session OnClose comes after
	// OnOpen has returned; for different ones they run at the same time.
	OnOpen  func(*Responder)
	OnClose func(*Responder, error)

	// Second says what happens when a peer that has a session opens another one.
	Second SecondSession

	// ServerLimits bounds what all peers together can make the server hold. Zero
	// fields mean the defaults.
	ServerLimits ServerLimits
}

// PeerOptions is what a [Server] serves one peer instead of what it serves all.
type PeerOptions struct {
	// Tools, Ops and Ports are as in [Config].
	Tools spoke.ToolSource
	Ops   []Op
	Ports any
}

// SecondSession is a policy for a peer that has a session and opens another one.
//
// A recorded hello can open a session too, although nothing can be signed in it. So the
// server asks a peer that has signed nothing for a signature, as it does before the first
// invoke of its own, and ends a session whose peer does not give one within the handshake
// timeout. Under the policies that let one session stand in the way of another it asks at
// once, else when the session has lasted as long as a handshake may. With
// SkipProofOfPossession it takes the hello's word.
type SecondSession int

const (
	// AllowSecond lets a peer hold several sessions; the zero value.
	AllowSecond SecondSession = iota
	// ReplaceFirst ends a peer's earlier sessions with [ErrReplaced] as soon as the
	// peer has proven itself in a later one. A peer that lost its connection comes
	// back at once.
	ReplaceFirst
	// RefuseSecond refuses the later one while there is an earlier one.
	RefuseSecond
)

// ServerLimits bounds what all peers together can make a [Server] hold.
type ServerLimits struct {
	// Sessions is how many sessions there are at once. Default 20000.
	Sessions int
	// SessionsPerPeer is how many of them one peer has. Default 64. With ReplaceFirst
	// at least two: the earlier one goes after the later one has come.
	SessionsPerPeer int
	// Handshakes is how many run at once; more are refused before their first frame
	// is read. Default 256.
	Handshakes int
	// Penalty is how long a peer is kept out after its session ended because of a
	// malformed frame or because it did not read. It doubles with each time up to a
	// minute, unless it is longer, and a peer that behaves for a minute begins anew.
	// Default 1s; negative for none, as with SkipProofOfPossession.
	Penalty time.Duration
}

func (l *ServerLimits) setDefaults(second SecondSession) {
	defaultTo(&l.Sessions, 20000)
	defaultTo(&l.SessionsPerPeer, 64)
	defaultTo(&l.Handshakes, 256)
	defaultTo(&l.Penalty, time.Second)
	if second == ReplaceFirst {
		l.SessionsPerPeer = max(l.SessionsPerPeer, 2)
	}
}

func (c *ServerConfig) check() error {
	if c.Second < AllowSecond || c.Second > RefuseSecond {
		return fmt.Errorf("config: unknown policy %d for a second session", c.Second)
	}
	l := c.ServerLimits
	for _, limit := range []struct {
		name  string
		value int
	}{{"Sessions", l.Sessions}, {"SessionsPerPeer", l.SessionsPerPeer}, {"Handshakes", l.Handshakes}} {
		if limit.value < 0 {
			return fmt.Errorf("config: ServerLimits.%s %d is negative", limit.name, limit.value)
		}
	}
	return nil
}
