package conformance

import (
	"crypto/ed25519"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/b64url"
	"github.com/spoke-peer/spoke-go/internal/shared"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// referenceDir is where the reference's fixtures are; the test is skipped without them.
func referenceDir(t testing.TB) string {
	t.Helper()
	return shared.Vectors(t, "reference")
}

// fixtureKind is a kind of reference fixture and what this library makes of it.
type fixtureKind struct {
	name string
	// files are the fixtures below toy-world, as a pattern; schema is the reference's
	// schema, from which the mutants are made.
	files, schema string
	// accept judges a fixture by this library's rules.
	accept func(t *testing.T, doc json.RawMessage) error
	// again decodes a fixture into this library's type and encodes it.
	again func(doc json.RawMessage) (json.RawMessage, error)
	// unjudged are rules of the reference's schema, as patterns, that this
	// library does not hold a document to, each with its reason.
	unjudged map[string]string
}

// fixtureKinds holds one line per kind.
var fixtureKinds = []fixtureKind{
	{"manifest", "host_tw_*.json", "data/host-capability-manifest.schema.json", acceptManifest, again[spoke.HostCapabilityManifest], nil},
	{"tool descriptor", "tool_tw_*.json", "data/tool-descriptor.schema.json", acceptDescriptor, again[spoke.ToolDescriptor], nil},
	{"hello", "conn_tw_hello_*.json", "connect/connect-hello.schema.json", acceptHello, signedAgain(connect.HelloEnvelope), unsignedMembers},
	{"session", "conn_tw_session.json", "connect/connect-session.schema.json", acceptSession, signedAgain(connect.SessionEnvelope), unsignedMembers},
	{"request", "conn_tw_invoke_*_request.json", "connect/connect-invoke-request.schema.json", acceptRequest, signedAgain(connect.RequestEnvelope), echoedOnly},
	{"response", "conn_tw_invoke_*_response.json", "connect/connect-invoke-response.schema.json", acceptResponse, signedAgain(connect.ResponseEnvelope), readableErrors},
	dataKind[spoke.KnowledgeEntry]("knowledge entry", "kb_tw_*.json", "data/knowledge-entry.schema.json"),
	dataKind[spoke.Relation]("relation", "rel_tw_*.json", "data/relation.schema.json"),
	dataKind[spoke.TimelineEvent]("timeline event", "evt_tw_*.json", "data/timeline-event.schema.json"),
	dataKind[spoke.Finding]("finding", "fnd_tw_*.json", "data/finding.schema.json"),
	dataKind[spoke.Rule]("rule", "rule_tw_*.json", "data/rule.schema.json"),
	dataKind[spoke.MindState]("mind state", "mind_tw_*.json", "data/mind-state.schema.json"),
	dataKind[spoke.AssemblePacket]("assemble packet", "pkt_tw_*.json", "data/assemble-packet.schema.json"),
	dataKind[spoke.SourceAnchor]("source anchor", "anchor_tw_*.json", "data/source-anchor.schema.json"),
	dataKind[spoke.ProjectRequest]("project request", "op_tw_project_request.json", "project-request.schema.json"),
	dataKind[spoke.ProjectResponse]("project response", "op_tw_project_response.json", "project-response.schema.json"),
	dataKind[spoke.ComputeRequest]("compute request", "op_tw_compute*_request.json", "compute-request.schema.json"),
	dataKind[spoke.ComputeResponse]("compute response", "op_tw_compute*_response.json", "compute-response.schema.json"),
}

// dataKind is a kind of data that is judged by decoding it.
func dataKind[T any](name, files, schema string) fixtureKind {
	decodes := func(_ *testing.T, doc json.RawMessage) error {
		var v T
		return json.Unmarshal(doc, &v)
	}
	return fixtureKind{name, files, schema, decodes, again[T], keptMembers}
}

// keptMembers are the rules about members that nobody knows: data types keep them, so
// that what a later version adds survives.
var keptMembers = map[string]string{
	` has an unknown member$`: "unknown members are kept",
}

// unsignedMembers are the rules about what no decision is made of.
var unsignedMembers = map[string]string{
	`^ lacks extensions$`: "extensions are never used for a decision",
	`^/extensions`:        "extensions are never used for a decision",
}

// The rules that this library leaves alone in the other envelopes.
var (
	echoedOnly = and(unsignedMembers, map[string]string{
		`^/request_id is too short$`: "an empty request id is as good as any: it is only echoed",
	})
	readableErrors = and(unsignedMembers, map[string]string{
		`^/error lacks message$`:          "a failure whose code can be read is told to the caller",
		`^/error lacks extensions$`:       "a failure whose code can be read is told to the caller",
		`^/error has an unknown member$`:  "a failure whose code can be read is told to the caller",
		`^/error/extensions has a member`: "extensions are never used for a decision",
	})
)

func and(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

func acceptManifest(_ *testing.T, doc json.RawMessage) error {
	return manifest.Err(manifest.Validate(doc))
}

func acceptDescriptor(_ *testing.T, doc json.RawMessage) error {
	return manifest.Err(manifest.ValidateDescriptor(doc))
}

// again decodes a document as a T and encodes it.
func again[T any](doc json.RawMessage) (json.RawMessage, error) {
	var v T
	if err := json.Unmarshal(doc, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// signedAgain returns what an envelope's signature covers, with the members that it
// does not cover as they came. The typed members in it go through their types.
func signedAgain(kind connect.EnvelopeKind) func(json.RawMessage) (json.RawMessage, error) {
	types := map[string]func(json.RawMessage) (json.RawMessage, error){
		"host": again[spoke.HostCapabilityManifest], "error": again[spoke.ErrorEnvelope],
	}
	return func(doc json.RawMessage) (json.RawMessage, error) {
		signed, err := connect.SignedBytes(kind, doc)
		if err != nil {
			return nil, err
		}
		f, err := wire.Parse(signed)
		if err != nil {
			return nil, err
		}
		for name, through := range types {
			if !f.Has(name) {
				continue
			}
			if f.Members[name], err = through(f.Members[name]); err != nil {
				return nil, err
			}
		}
		original, err := wire.Parse(doc)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"signature", "extensions"} {
			f.Members[name] = original.Members[name]
		}
		return json.Marshal(f.Members)
	}
}

func TestReferenceFixturesAreAcceptedAndEncodeToTheSameBytes(t *testing.T) {
	dir := referenceDir(t)
	for _, kind := range fixtureKinds {
		for name, doc := range fixturesOf(t, dir, kind) {
			t.Run(kind.name+" "+name, func(t *testing.T) {
				require.NoError(t, kind.accept(t, doc))
				encoded, err := kind.again(doc)
				require.NoError(t, err)
				assert.Equal(t, mustCanonical(t, doc), mustCanonical(t, encoded))
			})
		}
	}
}

func TestAMutantOfAReferenceFixtureIsRefused(t *testing.T) {
	dir := referenceDir(t)
	all := readSchemas(t, filepath.Join(dir, "schemas"))
	for _, kind := range fixtureKinds {
		for name, doc := range fixturesOf(t, dir, kind) {
			t.Run(kind.name+" "+name, func(t *testing.T) {
				var value any
				require.NoError(t, json.Unmarshal(doc, &value))
				mutants := mutantsOf(t, all, kind.schema, value)
				require.Greater(t, len(mutants), 5)
				for _, m := range mutants {
					text, err := json.Marshal(m.doc)
					require.NoError(t, err)
					if kind.isUnjudged(m.rule) {
						assert.NoError(t, kind.accept(t, text), "%s is judged after all", m.rule)
						continue
					}
					assert.Error(t, kind.accept(t, text), "%s: %s", m.rule, text)
				}
			})
		}
	}
}

func (k fixtureKind) isUnjudged(rule string) bool {
	for pattern := range k.unjudged {
		if regexp.MustCompile(pattern).MatchString(rule) {
			return true
		}
	}
	return false
}

// fixturesOf returns the fixtures of a kind by file name, at least one.
func fixturesOf(t *testing.T, dir string, kind fixtureKind) map[string]json.RawMessage {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "toy-world", kind.files))
	require.NoError(t, err)
	fixtures := map[string]json.RawMessage{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		fixtures[filepath.Base(path)] = text
	}
	require.NotEmpty(t, fixtures, kind.name)
	return fixtures
}

func mustCanonical(t testing.TB, doc json.RawMessage) string {
	t.Helper()
	text, err := connect.Canonicalize(doc)
	require.NoError(t, err)
	return string(text)
}

func readGolden(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(referenceDir(t), "golden", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, v))
}

func TestTheGoldenHellosMatch(t *testing.T) {
	type hello struct {
		Nonce     string   `json:"nonce"`
		PeerNonce string   `json:"peer_nonce"`
		JCS       hexBytes `json:"jcs_hex"`
		Signature string   `json:"signature_b64u"`
	}
	var golden struct {
		hello
		Seed      hexBytes        `json:"seed_hex"`
		Key       hexBytes        `json:"pubkey_hex"`
		PeerID    connect.PeerID  `json:"peer_id"`
		Manifest  json.RawMessage `json:"manifest"`
		Responder hello           `json:"responder"`
	}
	readGolden(t, "golden-hello.json", &golden)
	require.NoError(t, checkIdentity(t.Context(), identityCase{golden.Seed, golden.Key, golden.PeerID}))
	for _, h := range []hello{golden.hello, golden.Responder} {
		require.NotEmpty(t, h.JCS)
		assert.NoError(t, checkHelloSign(t.Context(), helloSignCase{
			Seed: golden.Seed, Nonce: h.Nonce, PeerNonce: h.PeerNonce, Host: golden.Manifest,
			JCS: h.JCS, PeerID: golden.PeerID, Signature: h.Signature,
		}))
	}
}

func TestTheGoldenEnvelopesMatch(t *testing.T) {
	type envelopes struct {
		Positive []struct {
			Envelope  string   `json:"envelope_json"`
			JCS       hexBytes `json:"jcs_hex"`
			Signature string   `json:"signature_b64u"`
		} `json:"positive"`
		Negative []struct {
			Envelope string `json:"envelope_json"`
			Kind     string `json:"kind"`
		} `json:"negative"`
	}
	var golden struct {
		Seed     hexBytes  `json:"seed_hex"`
		Key      hexBytes  `json:"pubkey_hex"`
		Session  envelopes `json:"session"`
		Request  envelopes `json:"invoke_request"`
		Response envelopes `json:"invoke_response"`
	}
	readGolden(t, "golden-envelope-auth.json", &golden)
	keys := signer{golden.Seed, golden.Key}
	for kind, list := range map[string]envelopes{"session": golden.Session, "request": golden.Request, "response": golden.Response} {
		require.NotEmpty(t, list.Positive, kind)
		require.NotEmpty(t, list.Negative, kind)
		for _, c := range list.Positive {
			assert.NoError(t, signEnvelope(t.Context(), keys, signCase{kind, json.RawMessage(c.Envelope), c.JCS, json.RawMessage(c.Envelope)}), c.Envelope)
		}
		for _, c := range list.Negative {
			v := verifyCase{Kind: kind, Bound: "golden-session-0001", Envelope: json.RawMessage(c.Envelope)}
			v.Result.Kind = c.Kind
			assert.NoError(t, verifyEnvelope(t.Context(), keys, v), c.Envelope)
		}
	}
}

func TestTheGoldenTokensClaimsAreSignedOverTheirCanonicalForm(t *testing.T) {
	var golden struct {
		Claims    json.RawMessage `json:"claims"`
		Signature string          `json:"sig"`
	}
	readGolden(t, "capability-token-golden.json", &golden)
	var claims struct {
		Issuer connect.PeerID `json:"iss"`
	}
	require.NoError(t, json.Unmarshal(golden.Claims, &claims))
	key, err := claims.Issuer.PublicKey()
	require.NoError(t, err)
	signature, err := b64url.Decode(golden.Signature)
	require.NoError(t, err)
	assert.True(t, ed25519.Verify(key, []byte(mustCanonical(t, golden.Claims)), signature))
}
