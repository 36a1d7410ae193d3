package connect

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/crypto/ssh"
)

// Identity is a peer's own key pair. It is safe for concurrent use. Use one Identity
// for all sessions of a process: it also remembers the hello nonces that those
// sessions accepted, unless their configuration names another store.
//
// No verb of fmt, no logger and no encoder shows the private key: they print the
// peer id.
type Identity struct {
	peerID PeerID
	public ed25519.PublicKey
	// private is a function so that printing an Identity by reflection meets an
	// address and no key bytes.
	private func() ed25519.PrivateKey
	met     *memory
}

// memory is what the sessions of an identity have met.
type memory struct {
	nonces   MemoryNonceStore // of accepted hellos
	sessions MemoryNonceStore // session ids that were given to us

	manifests judged
}

// GenerateIdentity returns a fresh identity.
func GenerateIdentity() (*Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate identity: %w", err)
	}
	return newIdentity(key), nil
}

// IdentityFromSeed returns the identity of an RFC 8032 seed of 32 bytes.
func IdentityFromSeed(seed []byte) (*Identity, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("identity: seed has %d bytes, want %d", len(seed), ed25519.SeedSize)
	}
	return newIdentity(ed25519.NewKeyFromSeed(seed)), nil
}

// IdentityFromKey returns the identity of a private key. A key whose public half
// does not belong to its seed is refused.
func IdentityFromKey(key ed25519.PrivateKey) (*Identity, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("identity: private key has %d bytes, want %d", len(key), ed25519.PrivateKeySize)
	}
	if own := ed25519.NewKeyFromSeed(key.Seed()); !own.Equal(key) {
		return nil, fmt.Errorf("identity: the private key's public half does not match its seed")
	}
	return newIdentity(slices.Clone(key)), nil
}

func newIdentity(key ed25519.PrivateKey) *Identity {
	public := key.Public().(ed25519.PublicKey)
	return &Identity{
		peerID:  peerIDOf(public),
		public:  public,
		private: func() ed25519.PrivateKey { return key },
		met:     new(memory),
	}
}

// PeerID returns the id by which other peers know this identity.
func (i *Identity) PeerID() PeerID { return i.peerID }

// PublicKey returns a copy of the public key.
func (i *Identity) PublicKey() ed25519.PublicKey {
	return slices.Clone(i.public)
}

// Sign returns the Ed25519 signature of message.
func (i *Identity) Sign(message []byte) []byte {
	return ed25519.Sign(i.private(), message)
}

// MarshalOpenSSH returns the private key as an OpenSSH key file. An empty passphrase
// leaves it unencrypted.
func (i *Identity) MarshalOpenSSH(comment string, passphrase []byte) ([]byte, error) {
	block, err := i.openSSHBlock(comment, passphrase)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return pem.EncodeToMemory(block), nil
}

func (i *Identity) openSSHBlock(comment string, passphrase []byte) (*pem.Block, error) {
	if len(passphrase) == 0 {
		return ssh.MarshalPrivateKey(i.private(), comment)
	}
	return ssh.MarshalPrivateKeyWithPassphrase(i.private(), comment, passphrase)
}

// String returns the peer id.
func (i *Identity) String() string {
	if i == nil {
		return "no identity"
	}
	return string(i.peerID)
}

// Format implements [fmt.Formatter]; every verb prints the peer id.
func (i *Identity) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(i.String())) }

// LogValue implements [slog.LogValuer].
func (i *Identity) LogValue() slog.Value { return slog.StringValue(i.String()) }

// MarshalText implements [encoding.TextMarshaler] with the peer id.
func (i *Identity) MarshalText() ([]byte, error) { return []byte(i.String()), nil }
