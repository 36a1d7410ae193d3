package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Catalog is what a peer offers by its authenticated manifest. It does not change and
// is safe for concurrent use. Nothing of a peer's schemas is compiled until
// [Catalog.Checked] asks for it.
type Catalog struct {
	tools []spoke.ToolDescriptor
	byID  map[string]int
	cache *SchemaCache
}

// Discover reads the tools of a manifest, such as a session's RemoteManifest. Tools
// that break the manifest rule are left out. Share one cache among the catalogs of a
// program; nil means one for this catalog alone.
//
// Source: wire spec, section 6.
func Discover(m spoke.HostCapabilityManifest, cache *SchemaCache) *Catalog {
	if cache == nil {
		cache = NewSchemaCache(0)
	}
	c := &Catalog{tools: manifest.ListTools(&m), cache: cache}
	c.byID = make(map[string]int, len(c.tools))
	for i, d := range c.tools {
		c.byID[d.CapabilityID] = i
	}
	return c
}

// List returns the peer's tools in the order of its manifest.
func (c *Catalog) List() []spoke.ToolDescriptor { return slices.Clone(c.tools) }

// Find returns the peer's tool with the id.
func (c *Catalog) Find(id string) (spoke.ToolDescriptor, bool) {
	i, ok := c.byID[id]
	if !ok {
		return spoke.ToolDescriptor{}, false
	}
	return c.tools[i], true
}

// Checked returns an invoker that checks the arguments of the named tools against the
// peer's own schemas before it hands a call on: what does not fit is INVALID_INPUT, as
// the peer would have answered, and nothing is sent. Calls of other tools are handed on
// unchecked.
//
// The schemas are compiled here, not when a call is made. They are hostile input: one
// that breaks the bounds of [manifest.Peer] is a [*manifest.SchemaError] in the error's
// chain. So is a tool that the peer does not offer an error: CAPABILITY_PORT_MISSING of
// kind not_found.
func (c *Catalog) Checked(invoker spoke.ToolInvoker, ids ...string) (spoke.ToolInvoker, error) {
	checked := &checkedInvoker{invoker: invoker, schemas: make(map[string]*manifest.ToolSchemas, len(ids))}
	for _, id := range ids {
		d, ok := c.Find(id)
		if !ok {
			return nil, notFound(id)
		}
		schemas, err := c.cache.compile(d)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", id, err)
		}
		checked.schemas[id] = schemas
	}
	return checked, nil
}

// checkedInvoker checks arguments before it hands a call on.
type checkedInvoker struct {
	invoker spoke.ToolInvoker
	schemas map[string]*manifest.ToolSchemas
}

// InvokeTool implements [spoke.ToolInvoker].
func (c *checkedInvoker) InvokeTool(ctx context.Context, id string, args any) (json.RawMessage, error) {
	if schemas, ok := c.schemas[id]; ok {
		canonical, err := encodeArguments(args)
		if err != nil {
			return nil, err
		}
		if err := schemas.ValidateArguments(canonical); err != nil {
			return nil, err
		}
		args = canonical
	}
	return Orchestrate(ctx, c.invoker, id, args)
}
