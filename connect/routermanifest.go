package connect

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// GetHostCapabilityManifest returns the composed manifest of the peers whose sessions
// are up: the router's own host id, and every role, capability, namespace and tool that
// one of them has. Tools that break the manifest rule are left out; of two with one id
// that of the lower peer id counts. extensions.router.peers lists the peers. It needs no
// round trip. It is for people and for discovery; calls are routed by the manifest of
// each peer.
//
// Source: wire spec, section 10.
func (r *Router) GetHostCapabilityManifest() spoke.HostCapabilityManifest {
	composed := spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion,
		HostID:        r.cfg.HostID,
		Tools:         []spoke.ToolDescriptor{},
	}
	peers := []PeerID{}
	var roles, capabilities, namespaces union
	for _, p := range r.byPeerID() {
		m := p.session.peer.manifest()
		roles.add(m.Roles)
		capabilities.add(m.Capabilities)
		namespaces.add(m.Namespaces)
		composed.Tools = append(composed.Tools, manifest.ListTools(m)...)
		peers = append(peers, p.id)
	}
	composed.Roles, composed.Capabilities, composed.Namespaces = roles.list, capabilities.list, namespaces.list
	composed.Tools = byCapability(composed.Tools)
	if raw, err := json.Marshal(map[string]any{"peers": peers}); err == nil {
		composed.Extensions = spoke.Extensions{"router": raw}
	}
	return composed
}

// ListPeerHostCapabilityManifests returns the authenticated manifest of each peer whose
// session is up, in the order of the peer ids. It needs no round trip and its error is
// always nil. What a peer says about others is
// router.Ports.ListPeerHostCapabilityManifests. It implements [spoke.HostPort].
//
// Source: wire spec, section 10.
func (r *Router) ListPeerHostCapabilityManifests(context.Context) ([]spoke.HostCapabilityManifest, error) {
	manifests := []spoke.HostCapabilityManifest{}
	for _, p := range r.byPeerID() {
		manifests = append(manifests, p.session.RemoteManifest())
	}
	return manifests, nil
}

// byPeerID returns the peers whose sessions are up in the order of their ids.
func (r *Router) byPeerID() []livePeer {
	up := r.live()
	slices.SortFunc(up, func(a, b livePeer) int { return strings.Compare(string(a.id), string(b.id)) })
	return up
}

// union collects texts, each once, in the order in which they come.
type union struct {
	list []string
	seen map[string]bool
}

func (u *union) add(more []string) {
	if u.seen == nil {
		u.seen = make(map[string]bool)
	}
	for _, text := range more {
		if !u.seen[text] {
			u.seen[text] = true
			u.list = append(u.list, text)
		}
	}
}

// byCapability sorts tools by id and keeps the first of each.
func byCapability(tools []spoke.ToolDescriptor) []spoke.ToolDescriptor {
	slices.SortStableFunc(tools, func(a, b spoke.ToolDescriptor) int { return strings.Compare(a.CapabilityID, b.CapabilityID) })
	return slices.CompactFunc(tools, func(a, b spoke.ToolDescriptor) bool { return a.CapabilityID == b.CapabilityID })
}
