package connect

import "context"

// arrival is one handshake of a server's and the beginning of its session.
type arrival struct {
	server *Server
	ep     *endpoint // for this peer
	placed PeerID    // whose place is taken, "" for none
}

// run holds the handshake and begins the session.
func (a *arrival) run(ctx context.Context, t Transport) (*Responder, *HandshakeError) {
	est, failure := a.shake(ctx, t)
	if failure != nil {
		return nil, failure
	}
	return a.open(t, est)
}

// shake holds the handshake while few enough others run.
func (a *arrival) shake(ctx context.Context, t Transport) (*established, *HandshakeError) {
	s := a.server
	select {
	case s.handshakes <- struct{}{}:
	default:
		return nil, refuse(CodeServerBusy, "%w: %d handshakes are under way", ErrServerBusy, cap(s.handshakes))
	}
	defer func() { <-s.handshakes }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.closing, func() { cancel(ErrServerClosed) })()
	return runHandshake(ctx, t, s.ep, func(h *handshake) (*established, *HandshakeError) {
		h.admit = a.admit
		return h.accept()
	})
}

// admit takes a place for a peer that was verified and finds out what it is served.
func (a *arrival) admit(peer PeerID) *HandshakeError {
	if failure := a.server.table.take(peer); failure != nil {
		return failure
	}
	a.placed = peer
	if a.server.cfg.Peer == nil {
		return nil
	}
	var err error
	if a.ep, err = a.server.ep.with(a.server.cfg.Peer(peer)); err != nil {
		return refuse(CodeInvalidConfig, "config: Peer: %w", err)
	}
	return nil
}

// giveBack returns the place of an arrival that became no session.
func (a *arrival) giveBack() {
	if a.placed != "" {
		a.server.table.giveBack(a.placed)
	}
}

// open lists the session, starts it and tells the application.
func (a *arrival) open(t Transport, est *established) (*Responder, *HandshakeError) {
	s := a.server
	r := &Responder{newSession(a.ep, t, est, s.cfg.SkipProofOfPossession)}
	opened := a.arrangeEnd(r)
	defer opened() // whatever OnOpen does
	if !s.table.add(r, func() bool { return s.ep.roster.allows(r.RemotePeerID()) }) {
		r.cancel(ErrServerClosed)
		return nil, a.unlisted()
	}
	a.placed = "" // the session's now
	r.start()
	s.askForProof(r)
	if s.cfg.OnOpen != nil {
		s.cfg.OnOpen(r)
	}
	return r, nil
}

// unlisted says why a session was not listed.
func (a *arrival) unlisted() *HandshakeError {
	if a.server.closing.Err() != nil {
		return refuse(CodeServerClosed, "%w", ErrServerClosed)
	}
	return refuse(CodePeerNotAllowed, "%w", ErrPeerRemoved)
}

// arrangeEnd makes the session leave the table when it ends and say farewell once it is
// over and opened was called.
func (a *arrival) arrangeEnd(r *Responder) (opened func()) {
	s := a.server
	told := make(chan struct{})
	r.leave = func() {
		s.table.remove(r)
		go func() {
			defer s.table.farewell()
			cause := r.Wait()
			<-told
			if s.cfg.OnClose != nil {
				s.cfg.OnClose(r, cause)
			}
		}()
	}
	return func() { close(told) }
}
