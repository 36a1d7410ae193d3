package connect

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"iter"
	"slices"
)

// Server accepts the sessions of many peers over any transport; package connect/ws
// makes an http.Handler of one. All methods are safe for concurrent use.
//
// What all sessions have in common, such as the compiled schemas of its tools, exists
// once. A session that ends is out of every list before its Done channel is closed.
type Server struct {
	cfg        ServerConfig
	ep         *endpoint
	table      *sessionTable
	handshakes chan struct{} // holds a token for each that runs
	refusals   lineWindow

	closing context.Context // ends when nothing is accepted any more
	stop    context.CancelFunc
}

// NewServer checks cfg and returns a server. It runs nothing of its own: hand
// transports to [Server.Accept] or [Server.Serve].
func NewServer(cfg ServerConfig) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.ServerLimits.setDefaults(cfg.Second)
	if cfg.SkipProofOfPossession {
		cfg.ServerLimits.Penalty = -1 // anybody's recorded hello would earn it
	}
	ep, err := newResponder(cfg.ResponderConfig)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, ep: ep,
		table:      newSessionTable(cfg.ServerLimits, cfg.Second),
		handshakes: make(chan struct{}, cfg.ServerLimits.Handshakes),
		refusals:   lineWindow{most: refusalLines},
	}
	s.closing, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Serve is [Server.Accept] and then waits for the session's end, which it returns as
// [Session.Wait] does. When ctx ends, so does the session.
func (s *Server) Serve(ctx context.Context, t Transport) error {
	r, err := s.Accept(ctx, t)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { r.end(context.Cause(ctx)) })
	defer stop()
	return r.Wait()
}

// Accept runs the responder's half of the handshake over t, as the function [Accept]
// does, and returns the session once it is listed and OnOpen has returned. Ctx bounds
// the handshake only; the session lives on in goroutines of its own. A failure is a
// [*HandshakeError] and is logged, at most a few lines per second.
func (s *Server) Accept(ctx context.Context, t Transport) (*Responder, error) {
	a := &arrival{server: s, ep: s.ep}
	defer a.giveBack()
	r, failure := a.run(ctx, t)
	if failure != nil {
		closeFor(failure, t)
		s.ep.Metrics.HandshakeRefused(failure.Code)
		s.logRefusal(failure)
		return nil, failure
	}
	return r, nil
}

// Ready returns nil when a handshake can begin, else an error that matches
// [ErrServerBusy] or [ErrServerClosed]. A listener asks before it spends anything on a
// connection; [Server.Accept] decides.
func (s *Server) Ready() error {
	if err := s.table.room(); err != nil {
		return err
	}
	if len(s.handshakes) == cap(s.handshakes) {
		return ErrServerBusy
	}
	return nil
}

func (s *Server) logRefusal(failure *HandshakeError) {
	s.refusals.log(func(dropped int) {
		s.ep.Logger.Warn("refused a handshake", "code", failure.Code, "peer", failure.Peer, "error", loggable(failure.Err), "unlogged", dropped)
	})
}

// PeerID returns the server's own peer id.
func (s *Server) PeerID() PeerID { return s.ep.Identity.PeerID() }

// Allow adds peers to the allowlist. A text that is no peer id is an error and changes
// nothing.
func (s *Server) Allow(peers ...PeerID) error { return s.ep.roster.add(peers) }

// AllowKey adds a peer that is verified by key, which must belong to its id.
func (s *Server) AllowKey(peer PeerID, key ed25519.PublicKey) error {
	return s.ep.roster.addKey(peer, key)
}

// Disallow removes peers from the allowlist and ends their sessions with
// [ErrPeerRemoved].
func (s *Server) Disallow(peers ...PeerID) {
	s.ep.roster.remove(peers)
	s.endUnwelcome()
}

// SetAllow replaces the allowlist and the explicit keys, and ends the sessions of peers
// that are on it no more with [ErrPeerRemoved]. An error changes nothing.
func (s *Server) SetAllow(peers []PeerID, keys map[PeerID]ed25519.PublicKey) error {
	if err := s.ep.roster.replace(peers, keys); err != nil {
		return err
	}
	s.endUnwelcome()
	return nil
}

// Allowed returns the allowlist, sorted.
func (s *Server) Allowed() []PeerID { return s.ep.roster.list() }

func (s *Server) endUnwelcome() {
	for _, r := range s.table.list() {
		if !s.ep.roster.allows(r.RemotePeerID()) {
			r.end(ErrPeerRemoved)
		}
	}
}

// Session returns the live session with the id.
func (s *Server) Session(id string) (*Responder, bool) { return s.table.find(id) }

// Sessions yields the live sessions in no order. Sessions may come and go meanwhile.
func (s *Server) Sessions() iter.Seq[*Responder] { return s.table.each() }

// SessionsOf returns the live sessions of a peer, the oldest first.
func (s *Server) SessionsOf(peer PeerID) []*Responder { return s.table.of(peer) }

// Shutdown stops accepting, lets the handlers that run and the invokes of this side
// that wait finish, and closes each session as it becomes idle; new requests are
// answered with kind overloaded meanwhile. It returns nil when every session is over
// and OnClose has returned. When ctx ends first, what is left is closed at once and
// ctx's error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopAccepting()
	for _, r := range s.table.list() {
		r.drain(ErrServerClosed)
	}
	select {
	case <-s.table.emptied:
		return nil
	case <-ctx.Done():
		s.Close()
		return ctx.Err()
	}
}

// Close stops accepting, ends every session and returns at once. Use [Server.Shutdown]
// afterwards to wait until all of that has happened.
func (s *Server) Close() error {
	s.stopAccepting()
	for _, r := range s.table.list() {
		r.end(ErrServerClosed)
	}
	return nil
}

func (s *Server) stopAccepting() {
	s.table.close()
	s.stop()
}

// askForProof ends a session whose peer signs nothing in it: at once where it stands in
// another's way, else after the time that a handshake has, in which most peers sign
// something unasked. A recorded hello takes no place for longer than that.
func (s *Server) askForProof(r *Responder) {
	if s.cfg.Second != AllowSecond {
		r.run(func() { s.second(r) })
		return
	}
	r.later(s.ep.HandshakeTimeout, func() {
		if !r.possess.isProven() {
			r.run(func() { s.proven(r) })
		}
	})
}

// proven reports whether the peer has signed something in the session or does so when it
// is asked. If it does not, that ends the session.
func (s *Server) proven(r *Responder) bool {
	p := r.newPatience(WithInvokeTimeout(context.Background(), s.ep.HandshakeTimeout), probeOp)
	defer r.endPatience(&p)
	reject := r.ensurePossession(&p)
	if reject != nil {
		r.end(fmt.Errorf("%w: %w", ErrNotProven, reject))
	}
	return reject == nil
}

// second applies the policy for second sessions to a session that has begun.
func (s *Server) second(r *Responder) {
	if s.proven(r) && s.cfg.Second == ReplaceFirst {
		for _, earlier := range slices.Backward(s.table.before(r)) {
			earlier.end(ErrReplaced)
		}
	}
}
