package connect

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"strconv"
	"sync"

	"github.com/spoke-peer/spoke-go/internal/b64url"
)

// NonceStore remembers the hello nonces that were accepted, so that a recorded hello
// is refused when it is played again. One store serves every session that a process
// accepts. Implementations are safe for concurrent use.
//
// Source: wire spec, section 4.
type NonceStore interface {
	// Accept records that a nonce of peer was accepted and reports whether it was
	// new. Asking and recording are one step: of two racing calls with the same
	// nonce one is told false. An error refuses the hello.
	Accept(peer PeerID, nonce string) (fresh bool, err error)
}

// DefaultNonceCapacity is how many nonces a [MemoryNonceStore] remembers by default.
const DefaultNonceCapacity = 1 << 16

// MemoryNonceStore is a [NonceStore] in memory that forgets its oldest entries when
// it is full. It takes about 100 bytes per remembered nonce and grows as it fills. The
// zero value remembers [DefaultNonceCapacity] nonces; it must not be copied.
type MemoryNonceStore struct {
	capacity int

	mu   sync.Mutex
	seen recent[struct{}]
}

// NewNonceStore returns a store for capacity nonces; 0 means [DefaultNonceCapacity].
func NewNonceStore(capacity int) *MemoryNonceStore {
	if capacity <= 0 {
		capacity = DefaultNonceCapacity
	}
	return &MemoryNonceStore{capacity: capacity}
}

// Accept implements [NonceStore]. Its error is always nil.
func (s *MemoryNonceStore) Accept(peer PeerID, nonce string) (bool, error) {
	key := digest(sha256.Sum256([]byte(strconv.Itoa(len(peer)) + ":" + string(peer) + nonce)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen.get(key); known {
		return false, nil
	}
	s.seen.put(cmp.Or(s.capacity, DefaultNonceCapacity), key, struct{}{})
	return true, nil
}

// nonceBytes is the size of a generated nonce; its text has 22 characters.
const nonceBytes = 16

func newNonce() string {
	var b [nonceBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return b64url.Encode(b[:])
}
