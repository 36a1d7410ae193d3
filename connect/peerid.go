package connect

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/mr-tron/base58"
)

// PeerID names a peer: the libp2p PeerId text of its Ed25519 public key. The key is
// inside, so an allowlist of peer ids is an allowlist of keys.
//
// A PeerID that did not come from this package is a claim; [ParsePeerID] judges it.
//
// Source: wire spec, section 2.
type PeerID string

// maxPeerIDLength is the longest text that is decoded at all.
const maxPeerIDLength = 128

// peerIDPrefix is the identity multihash header and the protobuf header of an
// Ed25519 public key.
var peerIDPrefix = []byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20}

// NewPeerID returns the id of an Ed25519 public key of ed25519.PublicKeySize bytes.
func NewPeerID(key ed25519.PublicKey) (PeerID, error) {
	if len(key) != ed25519.PublicKeySize {
		return "", fmt.Errorf("peer id: public key has %d bytes, want %d", len(key), ed25519.PublicKeySize)
	}
	return peerIDOf(key), nil
}

// peerIDOf is [NewPeerID] for a key whose size is known.
func peerIDOf(key ed25519.PublicKey) PeerID {
	return PeerID(base58.Encode(append(bytes.Clone(peerIDPrefix), key...)))
}

// ParsePeerID returns text as a PeerID if it is the one text of an Ed25519 key.
func ParsePeerID(text string) (PeerID, error) {
	_, err := PeerID(text).PublicKey()
	if err != nil {
		return "", err
	}
	return PeerID(text), nil
}

// PublicKey returns the key inside the id.
func (p PeerID) PublicKey() (ed25519.PublicKey, error) {
	if len(p) > maxPeerIDLength {
		return nil, fmt.Errorf("peer id: %d bytes, at most %d allowed", len(p), maxPeerIDLength)
	}
	raw, err := base58.Decode(string(p))
	if err != nil {
		return nil, fmt.Errorf("peer id %q: not base58: %w", string(p), err)
	}
	key, ok := bytes.CutPrefix(raw, peerIDPrefix)
	if !ok || len(key) != ed25519.PublicKeySize || peerIDOf(key) != p {
		return nil, fmt.Errorf("peer id %q: %w", string(p), errNotEd25519)
	}
	return key, nil
}

var errNotEd25519 = errors.New("not the id of an Ed25519 key")
