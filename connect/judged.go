package connect

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

const (
	maxJudged      = 32
	maxJudgedBytes = 32 << 10 // of a manifest that is remembered
)

// judged remembers what manifests were found to be: a peer comes back with the same one,
// and many peers have one in common. It is safe for concurrent use; the zero value
// remembers nothing.
type judged struct {
	mu    sync.Mutex
	peers recent[judgement]
	own   recent[ownManifest]
}

// judgement is what a peer's manifest was found to be. Nobody changes it.
type judgement struct {
	capabilities []string
	problems     []manifest.Problem
}

// ownManifest is what a session needs of this side's manifest. Nobody changes it.
type ownManifest struct {
	capabilities []string
	schemas      map[string]*manifest.ToolSchemas
}

// peer judges the canonical manifest of a peer.
func (j *judged) peer(host json.RawMessage) (judgement, error) {
	d := digest(sha256.Sum256(host))
	if known, ok := recall(j, &j.peers, d); ok {
		return known, nil
	}
	m, problems, err := manifest.Decode(host)
	if err != nil {
		return judgement{}, err
	}
	found := judgement{m.Capabilities, problems}
	remember(j, &j.peers, d, len(host), found)
	return found, nil
}

// ours judges this side's canonical manifest.
func (j *judged) ours(host json.RawMessage) (own ownManifest, err error) {
	d := digest(sha256.Sum256(host))
	if known, ok := recall(j, &j.own, d); ok {
		return known, nil
	}
	if err := manifest.Err(manifest.ValidateOwn(host)); err != nil {
		return own, err
	}
	// What is remembered works on its own memory, not on a caller's slices.
	var m spoke.HostCapabilityManifest
	if err := json.Unmarshal(host, &m); err != nil {
		return own, err
	}
	own = ownManifest{m.Capabilities, make(map[string]*manifest.ToolSchemas, len(m.Tools))}
	for _, tool := range m.Tools {
		if err := checkToolID(tool.CapabilityID); err != nil {
			return own, err
		}
		compiled, err := manifest.CompileTool(tool, manifest.Own)
		if err != nil {
			return own, fmt.Errorf("tool %s: %w", tool.CapabilityID, err)
		}
		own.schemas[tool.CapabilityID] = compiled
	}
	remember(j, &j.own, d, len(host), own)
	return own, nil
}

func recall[V any](j *judged, from *recent[V], d digest) (V, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return from.get(d)
}

func remember[V any](j *judged, in *recent[V], d digest, size int, v V) {
	if size > maxJudgedBytes {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	in.put(maxJudged, d, v)
}
