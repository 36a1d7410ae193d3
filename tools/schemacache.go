package tools

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// DefaultSchemaCache is how many tools' schemas a [SchemaCache] keeps unless told
// otherwise.
const DefaultSchemaCache = 128

// SchemaCache keeps the compiled schemas of peers' tools by the text of the schemas, so
// that sessions with equal peers compile them once. Schemas that are refused are kept
// as well. The least recently used are forgotten. It is safe for concurrent use.
type SchemaCache struct {
	kept *lru.Cache[schemaKey, compilation]
}

// schemaKey is the content of a descriptor's two schemas.
type schemaKey [sha256.Size]byte

// compilation compiles when it is first asked, and then remembers.
type compilation func() (*manifest.ToolSchemas, error)

// NewSchemaCache returns a cache for the schemas of size tools. Zero or less means
// [DefaultSchemaCache].
func NewSchemaCache(size int) *SchemaCache {
	if size <= 0 {
		size = DefaultSchemaCache
	}
	kept, _ := lru.New[schemaKey, compilation](size) // fails for a size below 1 only
	return &SchemaCache{kept: kept}
}

// compile returns the tool's schemas, held to the bounds of a peer's. Callers that ask
// for the same ones at once wait for one compilation.
func (c *SchemaCache) compile(d spoke.ToolDescriptor) (*manifest.ToolSchemas, error) {
	key := keyOf(d)
	if known, ok := c.kept.Get(key); ok {
		return known()
	}
	fresh := compilation(sync.OnceValues(func() (*manifest.ToolSchemas, error) {
		return manifest.CompileTool(d, manifest.Peer)
	}))
	if known, ok, _ := c.kept.PeekOrAdd(key, fresh); ok {
		return known()
	}
	return fresh()
}

func keyOf(d spoke.ToolDescriptor) schemaKey {
	h := sha256.New()
	length := binary.AppendUvarint(nil, uint64(len(d.Input)))
	for _, part := range [][]byte{length, d.Input, d.Output} {
		h.Write(part)
	}
	return schemaKey(h.Sum(nil))
}
