package connect

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// tokenMethod is the method of a challenge that a capability token answers.
const tokenMethod = "capability-token"

// Members of a challenge and of its answer, which are unsigned frames: what they carry
// is either worth nothing to others or signed itself.
const (
	memberChallengeID = "challenge_id"
	memberMethod      = "method"
	memberChallenge   = "challenge"
	memberProof       = "proof"
	memberExtensions  = "extensions"
)

// authChallenge is a ConnectAuthChallenge and authResponse a ConnectAuthResponse.
//
// Source: wire spec, section 8.
type (
	authChallenge struct {
		Challenge   string   `json:"challenge"`
		ChallengeID string   `json:"challenge_id"`
		Extensions  struct{} `json:"extensions"`
		Method      string   `json:"method"`
	}
	authResponse struct {
		ChallengeID string          `json:"challenge_id"`
		Extensions  struct{}        `json:"extensions"`
		Method      string          `json:"method"`
		Proof       json.RawMessage `json:"proof"`
	}
)

// challenge asks the peer for its token, when this side requires one, right after the
// session envelope.
//
// Source: wire spec, section 8.
func (h *handshake) challenge(est *established) *HandshakeError {
	if !h.ep.tokens.require {
		return nil
	}
	est.challenge = uuid.NewString()
	return h.send(json.Marshal(authChallenge{Challenge: newNonce(), ChallengeID: est.challenge, Method: tokenMethod}))
}

// receiveAuth handles a challenge or the answer to one, if that is what frame is and
// one is expected; else it returns false. Each is expected once in a session.
func (s *Session) receiveAuth(frame []byte) bool {
	switch {
	case s.gate.challenge != "":
		return s.receiveProof(frame)
	case s.ep.tokens.presents() && !s.purse.challenged:
		return s.receiveChallenge(frame)
	}
	return false
}

// authMembers returns the members of a frame of the right shape and method, and the id
// of its challenge. What is the frame's own member: a challenge or a proof.
func authMembers(frame []byte, what string) (id string, own jcs.Member, ok bool) {
	m, ok := exactMembers(frame, []string{memberChallengeID, memberMethod, what, memberExtensions}, nil)
	if !ok || m[memberExtensions].Value[0] != '{' {
		return "", jcs.Member{}, false
	}
	id, ok = m[memberChallengeID].Text()
	method, _ := m[memberMethod].Text()
	return id, m[what], ok && method == tokenMethod && id != "" && utf16Length(id) <= maxIDLength
}

// receiveChallenge answers the challenge of the peer that this side dialed.
func (s *Session) receiveChallenge(frame []byte) bool {
	id, own, ok := authMembers(frame, memberChallenge)
	text, isText := own.Text()
	if length := utf16Length(text); !ok || !isText || length < minNonceLength || length > maxNonceLength {
		return false
	}
	s.purse.challenged = true
	s.run(func() { s.answerChallenge(id) })
	return true
}

// answerChallenge presents this side's token.
func (s *Session) answerChallenge(id string) {
	p := s.patienceOf(context.Background(), tokenMethod, s.ownTimeout())
	defer s.endPatience(&p)
	token, reject := s.ownToken(&p)
	if reject != nil {
		s.log.Warn("no capability token to answer a challenge with", "kind", reject.Kind())
		return
	}
	frame, err := json.Marshal(authResponse{ChallengeID: id, Method: tokenMethod, Proof: token.raw})
	if err != nil {
		s.log.Warn("the answer to a challenge cannot be sent")
		return
	}
	if s.takeTurn() {
		defer s.freeSlot()
		s.writeOrEnd(frame)
	}
}

// receiveProof judges the answer to this side's challenge. An answer to another
// challenge is not one. The first answer to it is the last: one that does not verify
// leaves the session without a grant, and every request without a token of its own is
// refused.
//
// Source: wire spec, section 8.
func (s *Session) receiveProof(frame []byte) bool {
	id, own, ok := authMembers(frame, memberProof)
	if !ok || id != s.gate.challenge {
		return false
	}
	s.gate.challenge = ""
	_ = own.Canonicalize() // it was parsed; it cannot fail
	g, why := s.presented(own.Value)
	if why != "" {
		s.log.Warn("the peer's answer to the challenge was refused", "reason", why)
		return true
	}
	s.gate.standing = g
	s.log.Debug("the peer presented a capability token")
	return true
}
