package remotetool

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spoke-peer/spoke-go/tools"
)

// catalog is what a registry shows under one guard, until the registry changes. Apart
// from the remembered states it does not change.
type catalog struct {
	tools      []*definition // sorted by id
	probes     []probing
	revision   string
	ready      string // availability revision when every tool is available
	categories []byte

	mu       sync.Mutex
	last     map[int]tools.Availability // the states that lastRev is of
	lastRev  string
	lastList bool
}

// probing is the probe of the tool at a place.
type probing struct {
	at  int
	ask tools.Probe
}

// catalogs keeps the definitions of a registry's tools, and the catalogs over them, as
// long as they are true. It is shared by all views of a provider.
type catalogs struct {
	names map[string]string // registry id to the protocol's id
	byLow map[string]string // the protocol's id in lower case to the registry id

	mu         sync.Mutex
	defined    map[string]*definition // by registry id
	generation uint64
	byGuard    map[tools.Guard]*catalog
}

const registryPrefix = "tools."

// newCatalogs keeps the names that ProviderConfig.Names says count.
func newCatalogs(names map[string]string) *catalogs {
	c := &catalogs{names: make(map[string]string), byLow: make(map[string]string), defined: make(map[string]*definition)}
	for _, registryID := range slices.Sorted(maps.Keys(names)) {
		name := strings.TrimSpace(valid(names[registryID]))
		low := strings.ToLower(name)
		if _, taken := c.byLow[low]; name != "" && !taken {
			c.names[registryID], c.byLow[low] = name, registryID
		}
	}
	return c
}

// idOf returns the id that the protocol has for a tool of the registry, false when
// another tool has it.
//
// Source: remote tool spec, section 11.
func (c *catalogs) idOf(registryID string) (string, bool) {
	if name, ok := c.names[registryID]; ok {
		return name, true
	}
	id := strings.TrimPrefix(registryID, registryPrefix)
	_, taken := c.byLow[id]
	return id, !taken
}

// registryIDOf finds the registry's id for the protocol's. Ids compare without case.
func (c *catalogs) registryIDOf(id string) string {
	low := strings.ToLower(strings.TrimSpace(id))
	if registryID, ok := c.byLow[low]; ok {
		return registryID
	}
	if _, renamed := c.names[registryPrefix+low]; renamed {
		return ""
	}
	return registryPrefix + low
}

// find returns the definition of a tool whatever the guard says of it.
func (c *catalogs) find(r *tools.Registry, id string) (*definition, bool) {
	e, ok := r.Lookup(c.registryIDOf(id))
	if !ok {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.define(e)
	return x, x != nil
}

// define returns the tool's definition, made anew only when the tool was replaced, nil
// for a tool that has no id here. The caller holds the lock.
func (c *catalogs) define(e tools.Entry) *definition {
	x := c.defined[e.ID()]
	if x == nil || x.entry.Generation != e.Generation {
		id, ok := c.idOf(e.ID())
		if !ok {
			return nil
		}
		x = define(id, e)
		c.defined[e.ID()] = x
	}
	return x
}

// of returns the catalog that the caller in ctx may see, and its guard.
func (c *catalogs) of(ctx context.Context, r *tools.Registry) (*catalog, tools.Guard) {
	guard := r.EffectiveGuard(ctx) // the ceiling is the application's code and may ask us
	if _, err := tools.ParsePolicy(string(guard.MaxPolicy)); err != nil {
		guard.MaxPolicy = "" // so that there are few guards to keep a catalog for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	generation := r.Generation()
	if c.byGuard == nil || c.generation != generation {
		c.generation, c.byGuard = generation, make(map[tools.Guard]*catalog)
		c.forget(r)
	}
	known := c.byGuard[guard]
	if known == nil {
		known = c.build(guard, r.ListUnder(guard))
		c.byGuard[guard] = known
	}
	return known, guard
}

// forget drops the definitions of tools that were taken out.
func (c *catalogs) forget(r *tools.Registry) {
	maps.DeleteFunc(c.defined, func(registryID string, _ *definition) bool {
		_, ok := r.Lookup(registryID)
		return !ok
	})
}

func (c *catalogs) build(guard tools.Guard, entries []tools.Entry) *catalog {
	known := &catalog{tools: make([]*definition, 0, len(entries))}
	counts := make(map[string]int)
	for _, e := range entries {
		if x := c.define(e); x != nil {
			known.tools = append(known.tools, x)
			counts[x.category]++
		}
	}
	slices.SortStableFunc(known.tools, func(a, b *definition) int { return strings.Compare(a.id, b.id) })
	for i, x := range known.tools {
		if x.probe != nil {
			known.probes = append(known.probes, probing{i, x.probe})
		}
	}
	known.revision = known.hash(guard)
	known.ready = known.hashStates(nil)
	known.categories = []byte{'{'}
	for _, category := range slices.Sorted(maps.Keys(counts)) {
		known.categories = strconv.AppendInt(appendName(known.categories, category), int64(counts[category]), 10)
	}
	known.categories = append(known.categories, '}')
	return known
}

// hash returns the catalog's revision.
//
// Source: remote tool spec, section 3.
func (c *catalog) hash(guard tools.Guard) string {
	dst := appendText([]byte{'{'}, "schema", Schema)
	dst = append(appendName(dst, "guard"), '{')
	dst = appendBool(appendBool(dst, "discoveryEnabled", guard.Discovery), "executionEnabled", guard.Execution)
	dst = append(appendText(dst, "maxPolicy", string(maxPolicy(guard))), '}')
	dst = append(appendName(dst, "tools"), '[')
	for i, x := range c.tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(appendText(append(dst, '{'), "id", x.id), "definitionRevision", x.revision), '}')
	}
	return revisionOf(append(dst, ']', '}'))
}

// maxPolicy names the policy of a guard; a guard that permits nothing says read.
func maxPolicy(g tools.Guard) tools.Policy {
	if _, err := tools.ParsePolicy(string(g.MaxPolicy)); err != nil {
		return tools.PolicyRead
	}
	return g.MaxPolicy
}

// hashStates returns the availability revision for the tools that are down.
//
// Source: remote tool spec, section 3.
func (c *catalog) hashStates(down map[int]tools.Availability) string {
	dst := append(appendName([]byte{'{'}, "tools"), '[')
	for i, x := range c.tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		state, isDown := down[i]
		if !isDown {
			state = tools.Available()
		}
		dst = appendText(append(dst, '{'), "id", x.id)
		dst = append(appendState(appendName(dst, "runtime"), state), '}')
	}
	return revisionOf(append(dst, ']', '}'))
}

// probe asks every tool and returns those that are down, by their place, nil for none,
// and the availability revision. Equal states are hashed once.
//
// Source: remote tool spec, section 4.
func (c *catalog) probe(ctx context.Context) (map[int]tools.Availability, string) {
	var down map[int]tools.Availability
	for next := 0; next < len(c.probes); next++ {
		var state tools.Availability
		if next, state = firstDown(ctx, c.probes, next); next == len(c.probes) {
			break
		}
		if down == nil {
			down = make(map[int]tools.Availability)
		}
		down[c.probes[next].at] = state
	}
	if len(down) == 0 {
		return nil, c.ready
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lastList || !maps.Equal(down, c.last) {
		c.last, c.lastRev, c.lastList = down, c.hashStates(down), true
	}
	return down, c.lastRev
}

// firstDown asks the tools from next on and returns the first that is down, with its
// state, or the length of the list. One guard against panics for many probes is what
// makes 10,000 of them cheap.
func firstDown(ctx context.Context, list []probing, next int) (at int, state tools.Availability) {
	defer func() {
		if recover() != nil {
			state = tools.Unavailable("", "the availability probe failed")
		}
	}()
	for at = next; at < len(list); at++ {
		if state = list[at].ask(ctx); !state.Available {
			return at, state
		}
	}
	return at, state
}
