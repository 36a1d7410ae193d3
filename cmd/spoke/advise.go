package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spoke-peer/spoke-go/connect"
)

// updateOlder is what to do about two versions of the protocol.
const updateOlder = "both sides have to speak the same version: update the older one"

// advise says why there is no session and what to do about it. A peer that was reached
// and hung up, or that is not the one that was dialed, is a refusal; that nobody was
// reached, or that the connection broke, is not. Met is who answered, "" for nobody.
func (l *link) advise(err error, cfg connect.DialConfig, met connect.PeerID) error {
	failure, ok := errors.AsType[*connect.HandshakeError](err)
	switch {
	case errors.Is(err, connect.ErrTryLater):
		return &connectError{&advisedError{err, "the host takes no session of this peer now; try again later"}}
	case !ok:
		return &connectError{&advisedError{err, "see that the host runs and listens at " + l.url}}
	case failure.Kind == connect.HandshakeConfig:
		return &usageError{&advisedError{err, fmt.Sprintf("the key of %s is that of %s", l.key, cfg.Identity.PeerID())}}
	case failure.Kind == connect.HandshakeVersionMismatch:
		return &advisedError{err, updateOlder}
	case met != "" && met != cfg.Remote:
		return &advisedError{err, fmt.Sprintf("the key that answered is that of %s; if you trust it, use --peer %s", met, met)}
	case met == "" && (hungUp(failure) || failure.Code == connect.CodeTimeout):
		return &advisedError{err, "the peer told nothing, as it does to peers that it does not know; let it allow this one: --allow " +
			string(cfg.Identity.PeerID())}
	case failure.Code == connect.CodeTransport:
		return &connectError{err}
	}
	return err
}

// hungUp reports whether the peer closed the connection in place of an answer.
func hungUp(failure *connect.HandshakeError) bool {
	return failure.Code == connect.CodeTransport && errors.Is(failure, io.EOF)
}
