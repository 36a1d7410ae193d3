package tools

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Registry is a set of tools in the order of their registration. It is a
// [spoke.ToolSource], so it serves any number of sessions as their Config.Tools, and a
// [spoke.ToolInvoker], so a program can call its own tools as it calls a peer's.
//
// All methods are safe for concurrent use, also while sessions are served: a call runs
// the tool that was registered when it came in. What a peer may call is what its
// session negotiated; a tool that is registered later is called by sessions that are
// opened later.
type Registry struct {
	*core
	ceiling Policy // of this view
}

// core is what all views of a registry share.
type core struct {
	cfg  Config
	call CallFunc // the middleware around run

	mu         sync.RWMutex
	guard      Guard
	byID       map[string]int // into entries
	entries    []Entry
	generation uint64
}

// Config is what a registry is made with. It is copied.
type Config struct {
	// Guard says what anybody may do. The zero Guard is Disabled: nothing is listed
	// and nothing runs.
	Guard Guard

	// Ceiling lowers Guard.MaxPolicy for one listing or call, by what ctx says about
	// the caller; see [spoke.CallerFromContext]. It can never raise it. Nil lowers
	// nothing. [Registry.Lower] lowers it for a whole session without asking.
	Ceiling func(ctx context.Context) Policy

	// Middleware wraps every call, the first one outermost.
	Middleware []Middleware

	// Logger gets the panics of tools and middleware. Nil discards them.
	Logger *slog.Logger
}

// Entry is a tool as it stands in a registry.
type Entry struct {
	*Tool
	// Generation is the registry's generation at which the tool took its place. A tool
	// that is registered again under the same id has another one, and as long as it is
	// the same, so is everything the tool says about itself but its availability.
	Generation uint64
}

var (
	_ spoke.ToolSource  = (*Registry)(nil)
	_ spoke.ToolInvoker = (*Registry)(nil)
)

// NewRegistry returns an empty registry.
func NewRegistry(cfg Config) *Registry {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &core{cfg: cfg, guard: cfg.Guard, byID: make(map[string]int)}
	c.call = chain(c.run, cfg.Middleware)
	return &Registry{core: c, ceiling: PolicyCritical}
}

// Lower returns a view of the same registry in which no tool above the policy is listed
// or run: hand it to a session that may do less. Views of a view only lower further. An
// unknown policy permits nothing.
func (r *Registry) Lower(policy Policy) *Registry {
	return &Registry{core: r.core, ceiling: r.ceiling.lower(policy)}
}

// Register adds tools at the end, all of them or, on error, none. A tool with an error
// and an id that is taken, or stands twice, are refused; the error is a [*spoke.Reject]
// of code INVALID_INPUT with details.capability_id.
func (r *Registry) Register(tools ...*Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := make(map[string]bool, len(tools))
	for _, t := range tools {
		if err := r.admissible(t); err != nil {
			return err
		}
		if _, taken := r.byID[t.ID()]; taken || added[t.ID()] {
			return invalid(t.ID(), "is registered already")
		}
		added[t.ID()] = true
	}
	for _, t := range tools {
		r.byID[t.ID()] = len(r.entries)
		r.entries = append(r.entries, r.entry(t))
	}
	return nil
}

// Replace puts a tool in the place of the one with the same id. It is an error when
// there is none.
func (r *Registry) Replace(t *Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.admissible(t); err != nil {
		return err
	}
	i, ok := r.byID[t.ID()]
	if !ok {
		return invalid(t.ID(), "is not registered")
	}
	r.entries[i] = r.entry(t)
	return nil
}

// Remove takes the tool out, false when there was none. Calls that run go on.
func (r *Registry) Remove(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.byID[id]
	if !ok {
		return false
	}
	delete(r.byID, id)
	r.entries = slices.Delete(r.entries, i, i+1)
	for ; i < len(r.entries); i++ {
		r.byID[r.entries[i].ID()] = i
	}
	r.generation++
	return true
}

func (c *core) admissible(t *Tool) error {
	if t == nil {
		return spoke.Rejectf(spoke.CodeInvalidInput, "nil tool")
	}
	return t.err
}

// entry counts a change and returns the tool with its number.
func (c *core) entry(t *Tool) Entry {
	c.generation++
	return Entry{Tool: t, Generation: c.generation}
}

// Generation counts the changes of the set of tools and of the guard. As long as it is
// the same, so is every listing without states.
func (r *Registry) Generation() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.generation
}

// Guard returns the guard.
func (r *Registry) Guard() Guard {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.guard
}

// SetGuard changes the guard, for all views and from the next listing or call on.
func (r *Registry) SetGuard(g Guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guard = g
	r.generation++
}

// lookup returns the tool whatever the guard says.
func (c *core) lookup(id string) (Entry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i, ok := c.byID[id]
	if !ok {
		return Entry{}, false
	}
	return c.entries[i], true
}

// bound returns the guard with its policy lowered for the caller in ctx.
func (c *core) bound(ctx context.Context, ceiling Policy) Guard {
	c.mu.RLock()
	g := c.guard
	c.mu.RUnlock()
	g.MaxPolicy = g.MaxPolicy.lower(ceiling)
	if c.cfg.Ceiling != nil {
		g.MaxPolicy = g.MaxPolicy.lower(c.cfg.Ceiling(ctx))
	}
	return g
}
