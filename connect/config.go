package connect

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Config is what both sides of a session need. It is copied by [Dial] and [Accept];
// what its slices, maps and interfaces refer to must not change afterwards, except
// where an interface says that it may.
type Config struct {
	// Identity is this peer's key pair. Required.
	Identity *Identity

	// Manifest describes this peer and lists the tools it offers. Required; a
	// manifest with problems (see manifest.Validate) is refused.
	Manifest spoke.HostCapabilityManifest

	// Allow lists the peers that a session may be held with. Nil admits nobody.
	// A dialer's list must contain the peer that it dials.
	//
	// Source: wire spec, section 4.
	Allow []PeerID

	// Tools serves the peer's tool invokes, beside the handlers that are registered
	// on the session. Set it for tools that must answer from the first moment on. A tool
	// is served only if both manifests list its id among their capabilities.
	Tools spoke.ToolSource

	// Ops are the application's own ops.
	Ops []Op

	// Ports is what serves the peer's port.* invokes: anything that implements one or
	// more of the port interfaces of package spoke. A family that it does not implement
	// is denied, nil denies them all. Inside its methods [SessionFromContext] is the
	// session of the peer that called.
	//
	// Source: wire spec, section 7.
	Ports any

	// Nonces remembers accepted hello nonces. Nil means the memory that Identity
	// has, which all sessions of the same Identity value share.
	//
	// Source: wire spec, section 4.
	Nonces NonceStore

	// TrustedIssuers lists whose capability tokens count when the peer presents one.
	// Nil trusts nobody: a request with a token is then refused.
	//
	// Source: wire spec, section 8.
	TrustedIssuers []PeerID

	// Now is the clock by which capability tokens begin and expire. Nil means
	// [time.Now].
	Now func() time.Time

	// HandshakeTimeout bounds the handshake as a whole. Zero means 5s.
	//
	// Source: wire spec, section 4.
	HandshakeTimeout time.Duration

	// InvokeTimeout bounds one invoke, from the call to the answer. Zero means 5s;
	// negative means no bound beyond ctx. When it passes, the caller gets a Reject
	// of kind KindTimeout and the session stays usable. [WithInvokeTimeout] sets
	// another one for a single invoke.
	//
	// Source: wire spec, section 9.
	InvokeTimeout time.Duration

	// WriteTimeout bounds the writing of one frame. Zero means 10s. When it
	// passes, the session ends: a frame that was half written ruins the stream. Set
	// it higher for large frames over slow links.
	WriteTimeout time.Duration

	// Limits bounds what a peer can make this side hold. Zero fields mean the
	// defaults.
	Limits Limits

	// SkipValidation turns off the check of arguments and results of this peer's
	// own tools against their descriptors.
	//
	// Source: wire spec, section 6.
	SkipValidation bool

	// RefuseImperfectManifest fails the handshake with a peer whose manifest has
	// problems. Otherwise [Session.RemoteManifestProblems] lists them.
	RefuseImperfectManifest bool

	// Logger gets what happens to the session, never payloads, keys or tokens. Nil
	// discards it.
	Logger *slog.Logger

	// Metrics counts what happens to the session. Nil counts nothing.
	Metrics Metrics
}

// DialConfig is [Config] and the peer to dial.
type DialConfig struct {
	Config

	// Remote is the peer to dial; its key is inside. It may be left out when
	// RemoteKey is set.
	Remote PeerID

	// RemoteKey is the peer's public key. It may be left out when Remote is set;
	// when both are set they must belong together.
	RemoteKey ed25519.PublicKey

	// Token is the capability token that this side presents: on every request, and
	// when the peer asks for it. Its subject is this peer and its audience the dialed
	// one, else it is refused as a configuration error. The zero Token is none.
	//
	// Source: wire spec, section 8.
	Token Token

	// TokenSource hands out such a token, and the next one before it expires. It takes
	// the place of Token.
	TokenSource TokenSource
}

// ResponderConfig is [Config] and what only a responder decides.
type ResponderConfig struct {
	Config

	// PeerKeys gives explicit keys for allowed peers. A peer without one is verified
	// by the key inside its id. A key that does not belong to its id is refused as a
	// configuration error.
	PeerKeys map[PeerID]ed25519.PublicKey

	// SkipProofOfPossession lets the first invoke leave without a probe. A replayed
	// hello can then make this side send one request to whoever replays it.
	//
	// Source: wire spec, section 4.
	SkipProofOfPossession bool

	// RequireCapabilityToken asks the peer for a token right after the handshake. Until
	// it has presented a good one, and once that has expired, its requests are answered
	// auth_failed unless they carry one of their own. It needs TrustedIssuers.
	//
	// Source: wire spec, section 8.
	RequireCapabilityToken bool
}

// Limits bounds what a peer can make this side hold. Zero fields mean the defaults.
//
// Source: wire spec, sections 1 and 5.
type Limits struct {
	// FrameBytes is the largest frame, in both directions. Default 4 MiB.
	FrameBytes int
	// HandshakeFrameBytes is the largest frame before the session is established.
	// Default 256 KiB.
	HandshakeFrameBytes int
	// Depth is how deep arrays and objects nest in a frame. Default 256.
	Depth int
	// Handlers is how many of the peer's requests are served at once, and
	// HandlerBytes how large their frames are together; more are answered
	// INTERNAL_ERROR of kind overloaded. Defaults 1024 and 64 MiB, or FrameBytes if
	// that is more.
	Handlers     int
	HandlerBytes int
	// PendingReplies is how many replies may wait to be written; beyond it the
	// session ends. Default 4096.
	PendingReplies int
	// PendingReplyBytes is how many bytes of replies may wait to be written. A
	// handler's answer that does not fit waits for room; when three times as many
	// bytes wait for room, it is replaced by INTERNAL_ERROR of kind result. Default
	// 8 MiB, or twice FrameBytes if that is more.
	PendingReplyBytes int
}

// Limits on the texts of an envelope, in characters.
//
// Source: wire spec, section 1.
const (
	maxIDLength    = 128
	maxOpLength    = 256
	minNonceLength = 16
	maxNonceLength = 128
)

const (
	defaultHandshakeTimeout = 5 * time.Second
	defaultInvokeTimeout    = 5 * time.Second
	defaultWriteTimeout     = 10 * time.Second
)

func defaultTo[T int | time.Duration](value *T, fallback T) {
	if *value == 0 {
		*value = fallback
	}
}

func (l *Limits) setDefaults() {
	defaultTo(&l.FrameBytes, 4<<20)
	defaultTo(&l.HandshakeFrameBytes, 256<<10)
	defaultTo(&l.Depth, 256)
	defaultTo(&l.Handlers, 1024)
	defaultTo(&l.HandlerBytes, max(64<<20, l.FrameBytes))
	defaultTo(&l.PendingReplies, 4096)
	defaultTo(&l.PendingReplyBytes, max(8<<20, 2*l.FrameBytes))
}

func (c *Config) setDefaults() {
	defaultTo(&c.HandshakeTimeout, defaultHandshakeTimeout)
	defaultTo(&c.InvokeTimeout, defaultInvokeTimeout)
	defaultTo(&c.WriteTimeout, defaultWriteTimeout)
	c.Limits.setDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
}

// check reports a value that no session could work with.
func (c *Config) check() error {
	for _, timeout := range []struct {
		name  string
		value time.Duration
	}{{"HandshakeTimeout", c.HandshakeTimeout}, {"WriteTimeout", c.WriteTimeout}} {
		if timeout.value < 0 {
			return fmt.Errorf("%s %v is negative", timeout.name, timeout.value)
		}
	}
	return c.Limits.check()
}

// Smallest limits that let a session work at all.
const (
	minFrameBytes = 4 << 10
	minDepth      = 8
)

func (l *Limits) check() error {
	for _, limit := range []struct {
		name         string
		value, least int
	}{
		{"frame bytes", l.FrameBytes, minFrameBytes},
		{"handshake frame bytes", l.HandshakeFrameBytes, minFrameBytes},
		{"depth", l.Depth, minDepth},
		{"handlers", l.Handlers, 1},
		{"handler bytes", l.HandlerBytes, 1},
		{"pending replies", l.PendingReplies, 1},
		{"pending reply bytes", l.PendingReplyBytes, 1},
	} {
		if limit.value < limit.least {
			return fmt.Errorf("limit of %s is %d, at least %d needed", limit.name, limit.value, limit.least)
		}
	}
	if l.Depth > jcs.MaxDepth {
		return fmt.Errorf("limit of depth is %d, at most %d possible", l.Depth, jcs.MaxDepth)
	}
	return nil
}
