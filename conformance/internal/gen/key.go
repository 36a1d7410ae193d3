package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"

	"github.com/mr-tron/base58"
)

// key is a peer that signs vectors.
type key struct{ seed []byte }

// The peers of the vectors. The app dials, the host accepts.
var (
	appKey  = key{bytes.Repeat([]byte{0x63}, ed25519.SeedSize)}
	hostKey = key{bytes.Repeat([]byte{0x51}, ed25519.SeedSize)}
)

func (k key) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(k.seed) }

func (k key) public() ed25519.PublicKey { return k.private().Public().(ed25519.PublicKey) }

func (k key) seedHex() string { return hex.EncodeToString(k.seed) }

func (k key) publicHex() string { return hex.EncodeToString(k.public()) }

// peerID is the libp2p text of the key.
func (k key) peerID() string {
	header := []byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20}
	return base58.Encode(append(header, k.public()...))
}

// sign returns the signature over canonical text as envelopes carry it.
func (k key) sign(canonical string) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private(), []byte(canonical)))
}

// seal returns the envelope of canonical text: the text, its signature and empty
// extensions.
func (k key) seal(canonical string) string {
	return canonical[:len(canonical)-1] + `,"signature":"` + k.sign(canonical) + `","extensions":{}}`
}

func hexOf(text string) string { return hex.EncodeToString([]byte(text)) }
