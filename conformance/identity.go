package conformance

import (
	"bytes"
	"context"
	"encoding/hex"

	"github.com/spoke-peer/spoke-go/connect"
)

type identityCase struct {
	Seed   hexBytes       `json:"seed_hex"`
	Key    hexBytes       `json:"pubkey_hex"`
	PeerID connect.PeerID `json:"peer_id"`
}

// checkIdentity goes from the seed to the peer id and back to the key.
func checkIdentity(_ context.Context, c identityCase) error {
	id, err := connect.IdentityFromSeed(c.Seed)
	if err != nil {
		return err
	}
	if err := sameText("public key", hex.EncodeToString(c.Key), hex.EncodeToString(id.PublicKey())); err != nil {
		return err
	}
	if err := same("peer id", c.PeerID, id.PeerID()); err != nil {
		return err
	}
	key, err := c.PeerID.PublicKey()
	if err != nil || !bytes.Equal(key, c.Key) {
		return &mismatch{"key " + hex.EncodeToString(c.Key) + " inside the peer id", hex.EncodeToString(key)}
	}
	return nil
}

type notPeerIDCase struct {
	PeerID string `json:"peer_id"`
}

func checkNotPeerID(_ context.Context, c notPeerIDCase) error {
	if _, err := connect.ParsePeerID(c.PeerID); err == nil {
		return &mismatch{"a refusal of the peer id " + c.PeerID, "a key"}
	}
	return nil
}
