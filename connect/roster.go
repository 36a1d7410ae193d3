package connect

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// roster is who may hold a session and by which key each peer is verified. It may
// change while handshakes run. Safe for concurrent use; the zero value admits nobody.
//
// Source: wire spec, section 4.
type roster struct {
	mu      sync.RWMutex
	allowed map[PeerID]bool
	keys    map[PeerID]ed25519.PublicKey // explicit ones
}

// replace makes allow and keys the whole of the roster, or changes nothing.
func (r *roster) replace(allow []PeerID, keys map[PeerID]ed25519.PublicKey) error {
	if err := checkAllowed(allow); err != nil {
		return err
	}
	for peer, key := range keys {
		if err := checkKey(peer, key); err != nil {
			return fmt.Errorf("PeerKeys: %w", err)
		}
	}
	allowed := make(map[PeerID]bool, len(allow))
	for _, peer := range allow {
		allowed[peer] = true
	}
	own := make(map[PeerID]ed25519.PublicKey, len(keys))
	for peer, key := range keys {
		own[peer] = slices.Clone(key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed, r.keys = allowed, own
	return nil
}

// add allows more peers, or changes nothing.
func (r *roster) add(peers []PeerID) error {
	if err := checkAllowed(peers); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, peer := range peers {
		r.allowed[peer] = true
	}
	return nil
}

// addKey allows a peer that is verified by key.
func (r *roster) addKey(peer PeerID, key ed25519.PublicKey) error {
	if err := checkKey(peer, key); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[peer] = slices.Clone(key)
	r.allowed[peer] = true
	return nil
}

func (r *roster) remove(peers []PeerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, peer := range peers {
		delete(r.allowed, peer)
		delete(r.keys, peer)
	}
}

func (r *roster) allows(peer PeerID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.allowed[peer]
}

// list returns the allowed peers, sorted.
func (r *roster) list() []PeerID {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.allowed))
}

// keyOf returns the key by which a peer is verified: the explicit one, else the one
// inside its id.
func (r *roster) keyOf(peer PeerID) (ed25519.PublicKey, error) {
	r.mu.RLock()
	key, ok := r.keys[peer]
	r.mu.RUnlock()
	if ok {
		return key, nil
	}
	return peer.PublicKey()
}

func checkAllowed(peers []PeerID) error {
	for _, peer := range peers {
		if _, err := peer.PublicKey(); err != nil {
			return fmt.Errorf("Allow: %w", err)
		}
	}
	return nil
}

// checkKey refuses a key under another peer's id: whoever holds it could speak for
// that peer.
func checkKey(peer PeerID, key ed25519.PublicKey) error {
	if id, err := NewPeerID(key); err != nil || id != peer {
		return fmt.Errorf("the key for %q does not belong to that id", peer)
	}
	return nil
}
