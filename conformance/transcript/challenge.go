package transcript

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// A challenge for a capability token and its answer carry no signature. They are judged
// by their shape and their place, and the answer by the token in it.
//
// Source: wire spec, section 8.
const (
	tokenMethod  = "capability-token"
	minChallenge = 16 // characters
)

// unsigned says what a frame without a signature is, and judges it.
func (j *Judge) unsigned(from string, f wire.Frame) (name string, err error) {
	switch {
	case f.Has("challenge_id") && f.Has("challenge"):
		return "challenge", j.challenge(from, f)
	case f.Has("challenge_id") && f.Has("proof"):
		return "answer to the challenge", j.proof(from, f)
	}
	return "unknown", errors.New("a frame of no class")
}

// challenge judges a challenge. A responder sends one, once its session is open.
func (j *Judge) challenge(from string, f wire.Frame) error {
	if err := hasShape(f, "challenge"); err != nil {
		return err
	}
	switch {
	case from != FromResponder || j.sessionID == "":
		return errors.New("a challenge comes from the responder, behind the session")
	case j.challenged:
		return errors.New("a second challenge")
	case len(utf16.Encode([]rune(f.TextOf("challenge")))) < minChallenge:
		return fmt.Errorf("challenge has fewer than %d characters", minChallenge)
	}
	j.challenged, j.open = true, f.TextOf("challenge_id")
	return nil
}

// proof judges the answer to the challenge. There is one.
func (j *Judge) proof(from string, f wire.Frame) error {
	if err := hasShape(f, "proof"); err != nil {
		return err
	}
	if from != FromDialer || j.open == "" || f.TextOf("challenge_id") != j.open {
		return errors.New("answers no challenge of this transcript")
	}
	j.open = ""
	token, err := connect.ParseToken(f.Members["proof"])
	if err != nil {
		return err
	}
	// A transcript tells neither the time nor whom the responder trusts.
	_, err = connect.VerifyToken(f.Members["proof"], connect.TokenCheck{
		Trusted: []connect.PeerID{token.Claims().Issuer}, Self: j.peers[FromResponder], Peer: j.peers[FromDialer],
		Now: token.Claims().Expires.Add(-time.Second),
	})
	return err
}

// hasShape holds that a frame is strict JSON and has the members of a challenge or of its
// answer, own among them, and no others.
func hasShape(f wire.Frame, own string) error {
	canonical, err := connect.Canonicalize(f.Text)
	if err != nil {
		return err
	}
	if f, err = wire.Parse(canonical); err != nil {
		return err
	}
	switch {
	case len(f.Members) != 4 || !f.Has(own) || !f.Has("extensions"):
		return fmt.Errorf("has other members than challenge_id, method, %s and extensions", own)
	case f.TextOf("challenge_id") == "":
		return errors.New("challenge_id is no text or empty")
	case f.TextOf("method") != tokenMethod:
		return fmt.Errorf("method is %s, not %q", f.Members["method"], tokenMethod)
	case f.Members["extensions"][0] != '{':
		return errors.New("extensions are no object")
	}
	return nil
}
