package connect

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/b64url"
)

func acceptNonce(t testing.TB, s NonceStore, peer PeerID, nonce string) bool {
	t.Helper()
	fresh, err := s.Accept(peer, nonce)
	require.NoError(t, err)
	return fresh
}

func TestANonceIsFreshOnce(t *testing.T) {
	s := NewNonceStore(0)
	assert.True(t, acceptNonce(t, s, "peer", "nonce"))
	assert.False(t, acceptNonce(t, s, "peer", "nonce"))
	assert.False(t, acceptNonce(t, s, "peer", "nonce"))
	assert.True(t, acceptNonce(t, s, "peer", "other"))
	assert.True(t, acceptNonce(t, s, "peer", "NONCE"))
}

func TestPeersDoNotShareNonces(t *testing.T) {
	s := NewNonceStore(0)
	for _, pair := range [][2]string{
		{openSSHPeer, "nonce"}, {openSSHEncryptedPeer, "nonce"}, // ids have one length
		{"peer", "nonce"}, {"reep", "nonce"}, {"other", "nonce"},
		{"peern", "once"}, {"pee", "rnonce"}, {"", "peernonce"}, {"peernonce", ""},
		{"a\x00b", "c"}, {"a", "b\x00c"}, {"", "a\x00b\x00c"},
		{"1", "1"}, {"", "11"}, {"11", ""}, {"1:1", ""}, {"", "1:1"},
	} {
		assert.True(t, acceptNonce(t, s, PeerID(pair[0]), pair[1]), "peer %q, nonce %q", pair[0], pair[1])
	}
	assert.False(t, acceptNonce(t, s, "other", "nonce"))
}

func TestAFullStoreForgetsItsOldestNonceFirst(t *testing.T) {
	s := NewNonceStore(3)
	for _, nonce := range []string{"a", "b", "c"} {
		assert.True(t, acceptNonce(t, s, "peer", nonce))
	}
	assert.False(t, acceptNonce(t, s, "peer", "a"), "a full store still knows its oldest entry")
	assert.True(t, acceptNonce(t, s, "peer", "d"))
	for _, nonce := range []string{"b", "c", "d"} {
		assert.False(t, acceptNonce(t, s, "peer", nonce), "%s is among the newest three", nonce)
	}
	assert.True(t, acceptNonce(t, s, "peer", "a"), "a was forgotten, and being asked for did not refresh it")
	assert.True(t, acceptNonce(t, s, "peer", "b"), "a took the place of b")
	assert.False(t, acceptNonce(t, s, "peer", "d"))
}

func TestAStoreNeverHoldsMoreThanItsCapacity(t *testing.T) {
	const capacity = 7
	s := NewNonceStore(capacity)
	for i := range 10 * capacity {
		assert.True(t, acceptNonce(t, s, "peer", fmt.Sprint(i)))
		for back := range min(i+1, capacity) {
			assert.False(t, acceptNonce(t, s, "peer", fmt.Sprint(i-back)))
		}
		assert.LessOrEqual(t, len(s.seen.known), capacity)
		assert.Len(t, s.seen.order, len(s.seen.known))
	}
}

func TestTheCapacityHasADefault(t *testing.T) {
	for _, capacity := range []int{0, -1} {
		s := NewNonceStore(capacity)
		assert.Equal(t, DefaultNonceCapacity, s.capacity)
		assert.Empty(t, s.seen.order, "an unused store takes no room")
	}
	zero := new(MemoryNonceStore)
	assert.True(t, acceptNonce(t, zero, "peer", "a"))
	assert.False(t, acceptNonce(t, zero, "peer", "a"))
	s := NewNonceStore(1)
	assert.True(t, acceptNonce(t, s, "peer", "a"))
	assert.False(t, acceptNonce(t, s, "peer", "a"))
	assert.True(t, acceptNonce(t, s, "peer", "b"))
	assert.True(t, acceptNonce(t, s, "peer", "a"))
}

func TestOfAThousandRacingCallsOneIsFresh(t *testing.T) {
	s := NewNonceStore(0)
	var fresh atomic.Int64
	var racing sync.WaitGroup
	start := make(chan struct{})
	for range 1000 {
		racing.Go(func() {
			<-start
			if ok, err := s.Accept("peer", "nonce"); ok && err == nil {
				fresh.Add(1)
			}
		})
	}
	close(start)
	racing.Wait()
	assert.EqualValues(t, 1, fresh.Load())
	assert.Len(t, s.seen.known, 1)
}

func TestRacingCallsWithManyNoncesKeepTheCapacity(t *testing.T) {
	const nonces = 500
	s := NewNonceStore(nonces)
	var fresh atomic.Int64
	var racing sync.WaitGroup
	for range 4 {
		racing.Go(func() {
			for i := range nonces {
				if ok, _ := s.Accept(PeerID(fmt.Sprint(i%10)), fmt.Sprint(i)); ok {
					fresh.Add(1)
				}
			}
		})
	}
	racing.Wait()
	assert.EqualValues(t, nonces, fresh.Load())
	assert.Len(t, s.seen.known, nonces)
}

func TestALongNonceTakesNoMoreRoom(t *testing.T) {
	s := NewNonceStore(2)
	long := strings.Repeat("n", 1<<20)
	assert.True(t, acceptNonce(t, s, "peer", long))
	assert.False(t, acceptNonce(t, s, "peer", long))
	assert.True(t, acceptNonce(t, s, "peer", long+"n"))
}

func TestGeneratedNoncesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		nonce := newNonce()
		assert.False(t, seen[nonce])
		seen[nonce] = true
		raw, err := b64url.Decode(nonce)
		require.NoError(t, err)
		assert.Len(t, raw, 16)
		assert.Len(t, nonce, 22)
		assert.GreaterOrEqual(t, utf16Length(nonce), minNonceLength)
	}
}
