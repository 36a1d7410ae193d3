package conformance

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spoke-peer/spoke-go/manifest"
)

// negotiationCase is what two peers negotiate.
type negotiationCase struct {
	Initiator  json.RawMessage `json:"initiator"`
	Responder  json.RawMessage `json:"responder"`
	Negotiated []string        `json:"negotiated"`
	Snapshot   []string        `json:"snapshot"`
}

// checkNegotiation puts the peer under test into each role in which its own part is a
// manifest that it can have.
func checkNegotiation(ctx context.Context, c negotiationCase) error {
	ran := false
	for _, under := range bothRoles {
		mine, far := c.Initiator, c.Responder
		if under == responderRole {
			mine, far = far, mine
		}
		capabilities, ok := ownCapabilities(mine)
		if !ok {
			continue
		}
		ran = true
		if err := c.run(ctx, under, benchConfig{mine: capabilities, theirs: far, absent: far == nil}); err != nil {
			return within(err, "as %s", under)
		}
	}
	if !ran {
		return errors.New("no role in which the peer under test could have the manifest")
	}
	return nil
}

// ownCapabilities reads a list that makes a manifest without problems.
func ownCapabilities(text json.RawMessage) ([]string, bool) {
	var list []string
	if json.Unmarshal(text, &list) != nil || list == nil {
		return nil, false
	}
	raw, err := json.Marshal(manifestOf("under-test", list))
	return list, err == nil && len(manifest.Validate(raw)) == 0
}

func (c negotiationCase) run(ctx context.Context, under role, cfg benchConfig) error {
	b, err := openBench(ctx, under, cfg)
	if err != nil {
		return err
	}
	defer b.close()
	negotiated := b.session.NegotiatedCapabilities()
	if err := sameJSON("negotiated", c.Negotiated, append([]string{}, negotiated...)); err != nil {
		return err
	}
	if under == dialerRole { // the snapshot is the other end's
		return nil
	}
	return sameJSON("snapshot", c.Snapshot, b.agreed.Session.Members["negotiated_capabilities"])
}
