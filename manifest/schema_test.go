package manifest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
)

// bait is a schema, served and as a file, that notices being fetched: the server
// counts, and the schema accepts nothing, which shows in the verdict.
type bait struct {
	url  string // of the served schema
	file string // file URL of the planted one
	hits atomic.Int32
}

func newBait(t *testing.T) *bait {
	b := &bait{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.hits.Add(1)
		_, _ = w.Write([]byte(`{"not":{}}`))
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"not":{}}`), 0o600))
	b.url, b.file = server.URL+"/dir/schema.json", "file://"+filepath.ToSlash(path)
	return b
}

// set puts the bait's addresses into a schema.
func (b *bait) set(schema string) json.RawMessage {
	dir := func(u string) string { return u[:strings.LastIndex(u, "/")+1] }
	return json.RawMessage(strings.NewReplacer("HTTPDIR", dir(b.url), "HTTP", b.url, "FILEDIR", dir(b.file), "FILE", b.file).Replace(schema))
}

func TestTheBaitIsFetchedByAnUnguardedValidator(t *testing.T) {
	b := newBait(t)
	for _, schema := range []string{`{"$ref":"HTTP"}`, `{"$id":"HTTPDIR","items":{"$ref":"schema.json"}}`, `{"$ref":"FILE"}`, `{"$id":"FILEDIR","items":{"$ref":"schema.json"}}`} {
		s, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(b.set(schema)))
		require.NoError(t, err, schema)
		result, err := s.Validate(gojsonschema.NewStringLoader(`[1]`))
		require.NoError(t, err)
		assert.False(t, result.Valid(), schema)
	}
	assert.Positive(t, b.hits.Load())
}

func TestSchemasThatReachOutAreRefusedWithTheirPlace(t *testing.T) {
	cases := []struct{ name, schema, path string }{
		{"$ref to a URL", `{"$ref":"HTTP"}`, "/$ref"},
		{"$ref to a file", `{"$ref":"FILE"}`, "/$ref"},
		{"$ref to a URL's fragment", `{"properties":{"a":{"items":[{},{"$ref":"HTTP#/definitions/x"}]}}}`, "/properties/a/items/1/$ref"},
		{"$ref without scheme", `{"not":{"$ref":"//127.0.0.1/x"}}`, "/not/$ref"},
		{"$ref to a relative file", `{"not":{"$ref":"schema.json"}}`, "/not/$ref"},
		{"$ref to a metaschema", `{"not":{"$ref":"http://json-schema.org/draft-07/schema#"}}`, "/not/$ref"},
		{"$ref after white space", `{"not":{"$ref":" #/definitions/a"},"definitions":{"a":{}}}`, "/not/$ref"},
		{"relative $ref below an absolute $id", `{"$id":"HTTPDIR","items":{"$ref":"schema.json"}}`, "/$id"},
		{"relative $ref below a file $id", `{"$id":"FILEDIR","items":{"$ref":"schema.json"}}`, "/$id"},
		{"local $ref below an $id", `{"properties":{"a":{"$id":"HTTP","items":{"$ref":"#/x"}}}}`, "/properties/a/$id"},
		{"draft-04 id", `{"properties":{"a":{"id":"HTTPDIR","items":{"$ref":"#/x"}}}}`, "/properties/a/id"},
		{"an $id that is no string", `{"$id":5}`, "/$id"},
		{"an $id that is only a fragment", `{"definitions":{"a":{"$id":"#a"}}}`, "/definitions/a/$id"},
		{"$ref in definitions that nothing uses", `{"definitions":{"a":{"definitions":{"b":{"$ref":"HTTP"}}}}}`, "/definitions/a/definitions/b/$ref"},
		{"$id in definitions within definitions", `{"definitions":{"a":{"definitions":{"b":{"$id":"FILEDIR","items":{"$ref":"schema.json"}}}}}}`, "/definitions/a/definitions/b/$id"},
		{"$ref in $defs", `{"$defs":{"a":{"$ref":"FILE"}}}`, "/$defs/a/$ref"},
		{"$ref below an unknown keyword", `{"x-vendor":[{"a":{"$ref":"HTTP"}}]}`, "/x-vendor/0/a/$ref"},
		{"$id below an unknown keyword", `{"x-vendor":{"$id":"HTTP"}}`, "/x-vendor/$id"},
		{"$ref beside a $ref", `{"$ref":"#/definitions/a","items":{"$ref":"FILE"},"definitions":{"a":{}}}`, "/items/$ref"},
		{"$id beside a $ref", `{"$ref":"#/definitions/a","$id":"FILEDIR","definitions":{"a":{}}}`, "/$id"},
		{"$ref in a dependency", `{"dependencies":{"a":{"$ref":"HTTP"}}}`, "/dependencies/a/$ref"},
		{"$ref by way of data", `{"items":{"$ref":"#/default"},"default":{"$ref":"HTTP"}}`, "/default/$ref"},
		{"$ref by way of an enum", `{"items":{"$ref":"#/enum/0"},"enum":[{"$id":"HTTPDIR"}]}`, "/enum/0/$id"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBait(t)
			for _, trust := range []manifest.Trust{manifest.Peer, manifest.Own} {
				_, err := manifest.Compile(b.set(c.schema), trust)
				var e *manifest.SchemaError
				require.ErrorAs(t, err, &e)
				assert.Equal(t, c.path, e.Path)
				assert.NotEmpty(t, e.Reason)
				assert.Contains(t, err.Error(), c.path)
			}
			problems := manifest.Validate(dice(t, func(_, tool map[string]any) { tool["output"] = b.set(c.schema) }))
			assert.Equal(t, []string{"/tools/0/output" + c.path}, pathsOf(problems))
			assert.Zero(t, b.hits.Load())
		})
	}
}

func TestSchemasThatOnlyMentionAddressesRunWithoutThem(t *testing.T) {
	cases := []struct{ name, schema string }{
		{"$schema elsewhere", `{"$schema":"HTTP","type":"array"}`},
		{"$schema in a file", `{"$schema":"FILE","type":"array"}`},
		{"addresses in an enum", `{"enum":[[1],{"$ref":"HTTP","$id":"FILE"}]}`},
		{"addresses in a const", `{"not":{"const":{"$ref":"FILE","id":"HTTP"}}}`},
		{"addresses in default and examples", `{"default":{"$id":"HTTP","$ref":"FILE"},"examples":[{"id":"FILE","$ref":"HTTP"}],"type":"array"}`},
		{"addresses in texts", `{"title":"HTTP","description":"FILE","$comment":"HTTP","type":"array"}`},
		{"an address as a name", `{"properties":{"HTTP":{"type":"null"},"$ref":{"type":"null"}},"required":[],"type":"array"}`},
		{"a format of URLs", `{"items":{"anyOf":[{"type":"integer"},{"format":"uri"}]}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBait(t)
			for _, trust := range []manifest.Trust{manifest.Peer, manifest.Own} {
				s, err := manifest.Compile(b.set(c.schema), trust)
				require.NoError(t, err)
				assert.Nil(t, s.Validate(json.RawMessage(`[1]`)))
			}
			assert.Zero(t, b.hits.Load())
		})
	}
}

func TestTrustDecidesAboutRecursion(t *testing.T) {
	tree := json.RawMessage(`{"properties":{"children":{"type":"array","items":{"$ref":"#"}}},"required":["name"]}`)
	_, err := manifest.Compile(tree, manifest.Peer)
	assert.EqualError(t, err, "/properties/children/items/$ref: $ref cycle")
	s, err := manifest.Compile(tree, manifest.Own)
	require.NoError(t, err)
	assert.Nil(t, s.Validate(json.RawMessage(`{"name":1,"children":[{"name":2}]}`)))
	assert.Equal(t, []manifest.Problem{{Path: "/children/0", Message: "name is required"}},
		s.Validate(json.RawMessage(`{"name":1,"children":[{}]}`)))

	for _, trust := range []manifest.Trust{manifest.Peer, manifest.Own, manifest.Trust(7)} {
		_, err := manifest.Compile(json.RawMessage(`{"$ref":"#"}`), trust)
		assert.EqualError(t, err, "/$ref: $ref cycle")
	}
	_, err = manifest.Compile(tree, manifest.Trust(7))
	assert.Error(t, err, "an unknown trust is none")
}

// FuzzCompilePeer holds that no schema and no value from a peer panics, hangs or
// differs in verdict between two runs.
func FuzzCompilePeer(f *testing.F) {
	seeds := 0
	for _, c := range load[argumentsCase](f, "tool_arguments.json") {
		f.Add([]byte(c.Input), []byte(c.Args))
		seeds++
	}
	for _, schema := range []string{
		`{"$ref":"#"}`,
		`{"definitions":{"a":{"allOf":[{"$ref":"#/definitions/b"},{"$ref":"#/definitions/b"}]},"b":{"type":"null"}},"$ref":"#/definitions/a"}`,
		`{"patternProperties":{"^a{1,9}$":{"format":"regex"}},"propertyNames":{"maxLength":3},"dependencies":{"a":["b"],"c":{"not":{}}}}`,
		`{"items":[{"multipleOf":5e-324}],"additionalItems":{"enum":[1e308,null]},"contains":{"const":{"$id":"x"}},"uniqueItems":true}`,
		`{"if":{"type":"object"},"then":{"minProperties":1},"else":{"oneOf":[true,false]}}`,
		`{"definitions":true,"$schema":5,"type":["any"]}`,
	} {
		f.Add([]byte(schema), []byte(`{"a":"(","c":[1,1]}`))
		seeds++
	}
	require.NotZero(f, seeds)
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := manifest.Compile(schema, manifest.Peer)
		if err != nil {
			var e *manifest.SchemaError
			require.ErrorAs(t, err, &e)
			require.NotEmpty(t, e.Reason)
			return
		}
		problems := s.Validate(value)
		require.LessOrEqual(t, len(problems), 64)
		require.Equal(t, problems, s.Validate(value))
		_, err = manifest.Compile(schema, manifest.Own)
		require.NoError(t, err, "what a peer may do, we may")
	})
}
