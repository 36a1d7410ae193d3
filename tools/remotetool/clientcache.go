package remotetool

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spoke-peer/spoke-go/tools"
)

// cache is what a client keeps of its peer's catalog.
//
// Source: remote tool spec, section 10.
type cache struct {
	revision     string // "" before the first answer
	availability string
	tools        []Tool // all that were listed, whatever the ceiling
	cut          bool   // the peer has more than it listed
	byID         map[string]int
	definitions  map[string]Tool // by revision and id
}

// advance takes an answer over. Only index and full answers without filters come here.
func (k *cache) advance(got *Catalog) {
	switch {
	case !got.Unchanged:
		k.revision, k.availability, k.tools = got.Revision, got.AvailabilityRevision, got.Tools
		k.cut = got.TotalCount > len(got.Tools) || got.TotalCount == 0 && len(got.Tools) >= maxListed
		k.byID = make(map[string]int, len(got.Tools))
		for i, t := range got.Tools {
			k.byID[idKey(t.ID)] = i
		}
		k.forget()
	case got.Changes != nil:
		k.availability = got.AvailabilityRevision
		k.tools = slices.Clone(k.tools)
		for i := range k.tools {
			state, changed := got.Changes[k.tools[i].ID]
			if !changed {
				state = tools.Available()
			}
			k.tools[i].Runtime, k.tools[i].Executable = state, state.Available
		}
	}
}

// forget drops the definitions that no tool has any more.
func (k *cache) forget() {
	live := make(map[string]bool, len(k.tools))
	for _, t := range k.tools {
		live[definitionKey(t)] = true
	}
	maps.DeleteFunc(k.definitions, func(key string, _ Tool) bool { return !live[key] })
}

func definitionKey(t Tool) string { return t.Revision + " " + t.ID }

// Tools returns the index of the peer's tools under the ceiling, as it is now: the peer
// is asked, and sends only what has changed since the last time. A peer that shows more
// than 1000 tools is seen with the first 1000.
//
// Source: remote tool spec, section 10.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	known, err := c.refresh(ctx)
	if err != nil {
		return nil, err
	}
	return c.under(slices.Clone(known.tools)), nil
}

// refresh brings the cache up to date and returns it as it then is.
func (c *Client) refresh(ctx context.Context) (cache, error) {
	select {
	case c.refreshing <- struct{}{}:
		defer func() { <-c.refreshing }()
	case <-ctx.Done():
		return cache{}, contextError(ctx)
	}
	known := c.known()
	got, err := c.ask(ctx, Query{Detail: DetailIndex, IfRevision: known.revision, IfAvailabilityRevision: known.availability})
	if err != nil {
		return cache{}, err
	}
	if got.Unchanged && got.Revision != known.revision {
		return cache{}, errorf(CodeProtocol, "the peer says that nothing changed since another revision")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache.advance(got)
	return c.cache, nil
}

func (c *Client) known() cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cache
}

// Definitions returns the definitions of tools, in the order of ids; those that are kept
// and still true are not asked for. Ids that the peer does not show, or the ceiling
// hides, are left out.
//
// Source: remote tool spec, section 10.
func (c *Client) Definitions(ctx context.Context, ids ...string) ([]Tool, error) {
	known, err := c.refresh(ctx)
	if err != nil {
		return nil, err
	}
	have := make(map[string]Tool, len(ids))
	var missing []string
	for _, id := range ids {
		i, ok := known.byID[idKey(id)]
		if !ok || !c.cfg.MaxPolicy.Permits(known.tools[i].Policy) {
			continue
		}
		if t, ok := c.kept(known.tools[i]); ok {
			have[idKey(id)] = t
		} else if !slices.Contains(missing, known.tools[i].ID) {
			missing = append(missing, known.tools[i].ID)
		}
	}
	for chunk := range slices.Chunk(missing, maxListed) {
		if err := c.fetch(ctx, chunk, have); err != nil {
			return nil, err
		}
	}
	var list []Tool
	for _, id := range ids {
		if t, ok := have[idKey(id)]; ok {
			list = append(list, t)
		}
	}
	return list, nil
}

func (c *Client) kept(t Tool) (Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.cache.definitions[definitionKey(t)]
	return d, ok
}

// fetch asks for definitions and keeps them.
func (c *Client) fetch(ctx context.Context, ids []string, have map[string]Tool) error {
	got, err := c.ask(ctx, Query{Detail: DetailDefinitions, IDs: ids})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.under(got.Tools) {
		if !slices.Contains(ids, t.ID) {
			continue // nobody asked for it
		}
		have[idKey(t.ID)] = t
		if len(c.cache.definitions) < c.cfg.MaxDefinitions {
			c.cache.definitions[definitionKey(t)] = t
		}
	}
	return nil
}

// allowed holds a call to the ceiling, and fails where that cannot be told.
//
// Source: remote tool spec, section 8.
func (c *Client) allowed(ctx context.Context, call Call) error {
	if c.cfg.MaxPolicy == tools.PolicyCritical {
		return nil
	}
	for _, id := range c.runBy(call) {
		t, ok, err := c.find(ctx, id)
		switch {
		case err != nil:
			return err
		case !ok && id == call.ID:
			return errorf(CodeNotFound, "the peer shows no tool %q", clip(id))
		case ok && !c.cfg.MaxPolicy.Permits(t.Policy):
			return errorf(CodeExecutionDenied, "%s is above the policy %q", clip(id), c.cfg.MaxPolicy)
		}
	}
	return nil
}

// idKey is what ids are compared by.
func idKey(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

// find returns what the peer shows of a tool, false for one that it does not show. The
// peer is asked for what is not kept.
func (c *Client) find(ctx context.Context, id string) (Tool, bool, error) {
	known := c.known()
	i, ok := known.byID[idKey(id)]
	if !ok {
		var err error
		if known, err = c.refresh(ctx); err != nil {
			return Tool{}, false, err
		}
		if i, ok = known.byID[idKey(id)]; !ok {
			if known.cut {
				return c.findUnlisted(ctx, id)
			}
			return Tool{}, false, nil
		}
	}
	return known.tools[i], true, nil
}

// findUnlisted asks a peer that does not list all its tools. Ids select in their exact
// case only, and a call finds a tool in any, so their words are asked for as well.
//
// Source: remote tool spec, sections 2 and 5.
func (c *Client) findUnlisted(ctx context.Context, id string) (Tool, bool, error) {
	for _, q := range []Query{{Detail: DetailIndex, IDs: []string{id}}, {Detail: DetailIndex, Text: id}} {
		got, err := c.ask(ctx, q)
		if err != nil {
			return Tool{}, false, err
		}
		at := slices.IndexFunc(got.Tools, func(t Tool) bool { return idKey(t.ID) == idKey(id) })
		if at >= 0 {
			return got.Tools[at], true, nil
		}
		if len(got.Tools) >= maxListed {
			return Tool{}, false, errorf(CodeExecutionDenied, "the peer shows too many tools to tell whether %s is above the policy %q", clip(id), c.cfg.MaxPolicy)
		}
	}
	return Tool{}, false, nil
}

// runBy lists the tools that a call runs, those of its evidence included.
func (c *Client) runBy(call Call) []string {
	ids := []string{call.ID}
	if call.After == nil {
		return ids
	}
	if call.After.Include == nil || slices.ContainsFunc(call.After.Include, func(s string) bool { return s != "screenshot" }) {
		ids = append(ids, c.cfg.VisualTreeID)
	}
	if slices.Contains(call.After.Include, "screenshot") {
		ids = append(ids, c.cfg.ScreenshotID)
	}
	return ids
}
