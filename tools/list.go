package tools

import (
	"context"
	"slices"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// List returns the tools that the caller in ctx may see, in order. Without discovery
// there are none.
func (r *Registry) List(ctx context.Context) []Entry {
	return r.listed(r.bound(ctx, r.ceiling))
}

// ListUnder is [Registry.List] for a guard that the caller has from
// [Registry.EffectiveGuard], so that no ceiling is asked again. No other guard is looked
// at.
func (r *Registry) ListUnder(guard Guard) []Entry { return r.listed(guard) }

// Find returns the tool of [Registry.List] with the id.
func (r *Registry) Find(ctx context.Context, id string) (Entry, bool) {
	e, ok := r.lookup(id)
	if !ok || !r.bound(ctx, r.ceiling).shows(e) {
		return Entry{}, false
	}
	return e, true
}

// Lookup returns the tool with the id whatever the guard says of it.
func (r *Registry) Lookup(id string) (Entry, bool) { return r.lookup(id) }

// EffectiveGuard returns the guard as it stands for the caller in ctx: lowered by this
// view and by Config.Ceiling.
func (r *Registry) EffectiveGuard(ctx context.Context) Guard { return r.bound(ctx, r.ceiling) }

func (c *core) listed(g Guard) []Entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]Entry, 0, len(c.entries))
	for _, e := range c.entries {
		if g.shows(e) {
			list = append(list, e)
		}
	}
	return list
}

func (g Guard) shows(e Entry) bool { return g.Discovery && g.MaxPolicy.Permits(e.meta.Policy) }

func (g Guard) runs(t *Tool) bool { return g.Execution && g.MaxPolicy.Permits(t.meta.Policy) }

// Describe returns base with the tools that the guard and this view's ceiling show: its
// Tools are theirs and no others, and their ids and namespaces are added to its
// Capabilities and Namespaces. What base lists there stays, such as the tools of a peer
// that this side wants to call. Base itself does not change.
//
// Source: wire spec, section 6.
func (r *Registry) Describe(base spoke.HostCapabilityManifest) spoke.HostCapabilityManifest {
	guard := r.Guard()
	guard.MaxPolicy = guard.MaxPolicy.lower(r.ceiling)
	capabilities, namespaces := newUnion(base.Capabilities), newUnion(base.Namespaces)
	base.Tools = nil
	for _, e := range r.listed(guard) {
		namespace, _, err := manifest.ParseToolID(e.ID())
		if err != nil {
			continue // Register refuses such a tool
		}
		base.Tools = append(base.Tools, e.descriptor)
		capabilities.add(e.ID())
		namespaces.add(namespace)
	}
	base.Capabilities, base.Namespaces = capabilities.list, namespaces.list
	return base
}

// union is a list without repetition.
type union struct {
	list []string
	has  map[string]bool
}

func newUnion(base []string) *union {
	u := &union{list: slices.Clone(base), has: make(map[string]bool, len(base))}
	for _, item := range base {
		u.has[item] = true
	}
	return u
}

func (u *union) add(item string) {
	if !u.has[item] {
		u.has[item] = true
		u.list = append(u.list, item)
	}
}
