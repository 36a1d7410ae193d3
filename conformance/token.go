package conformance

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// tokenVerifyCase is a token as somebody presents it.
type tokenVerifyCase struct {
	Proof   json.RawMessage  `json:"proof"`
	Trusted []connect.PeerID `json:"trusted_issuers"`
	Self    connect.PeerID   `json:"this_peer_id"`
	Peer    connect.PeerID   `json:"session_peer_id"`
	Now     int64            `json:"now"`
	Result  struct {
		OK           bool     `json:"ok"`
		Code         string   `json:"code"`
		Capabilities []string `json:"capabilities"`
	} `json:"result"`
}

func checkTokenVerify(_ context.Context, c tokenVerifyCase) error {
	claims, err := connect.VerifyToken(c.Proof, connect.TokenCheck{
		Trusted: c.Trusted, Self: c.Self, Peer: c.Peer, Now: time.Unix(c.Now, 0),
	})
	switch {
	case !c.Result.OK && err == nil:
		return &mismatch{"kind " + c.Result.Code, "success"}
	case !c.Result.OK:
		return same("kind", c.Result.Code, spoke.KindOf(err))
	case err != nil:
		return unexpected("success", err)
	}
	return sameJSON("capabilities", c.Result.Capabilities, claims.Capabilities)
}

// tokenIssueCase is claims that become a token, or do not.
type tokenIssueCase struct {
	Seed   hexBytes        `json:"seed_hex"`
	Claims json.RawMessage `json:"claims"`
	Now    int64           `json:"now"`
	Proof  json.RawMessage `json:"proof"`
	Error  string          `json:"error"`
}

func checkTokenIssue(_ context.Context, c tokenIssueCase) error {
	token, err := c.issue()
	if c.Error != "" {
		if err == nil {
			return &mismatch{c.Error, "a token"}
		}
		return nil
	}
	if err != nil {
		return unexpected("a token", err)
	}
	return sameJSON("token", c.Proof, token)
}

func (c tokenIssueCase) issue() (connect.Token, error) {
	issuer, err := connect.IdentityFromSeed(c.Seed)
	if err != nil {
		return connect.Token{}, err
	}
	var claims connect.TokenClaims
	if err := json.Unmarshal(c.Claims, &claims); err != nil {
		return connect.Token{}, err
	}
	return connect.IssueToken(issuer, claims, time.Unix(c.Now, 0))
}
