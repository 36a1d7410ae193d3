package conformance

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// routerCase is a request and the peers of which one may serve it.
type routerCase struct {
	Op         string          `json:"op"`
	Payload    json.RawMessage `json:"payload"`
	Candidates []struct {
		Peer     connect.PeerID                `json:"peer_id"`
		Manifest *spoke.HostCapabilityManifest `json:"manifest"`
	} `json:"candidates"`
	Result struct {
		outcome
		Peer connect.PeerID `json:"peer_id"`
	} `json:"result"`
}

// checkRouter selects among the candidates, in the order of the case and in reverse.
func checkRouter(_ context.Context, c routerCase) error {
	var forth, back []connect.Candidate
	for _, candidate := range c.Candidates {
		one := connect.Candidate{Peer: candidate.Peer, Manifest: candidate.Manifest}
		forth, back = append(forth, one), append([]connect.Candidate{one}, back...)
	}
	for _, candidates := range [][]connect.Candidate{forth, back} {
		peer, err := connect.Select(c.Op, c.Payload, candidates)
		if err := c.Result.check(err); err != nil {
			return err
		}
		if err := same("peer", c.Result.Peer, peer); err != nil {
			return err
		}
	}
	return nil
}
