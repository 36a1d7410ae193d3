package connect_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

type routerVectors struct {
	Cases []struct {
		Op         string
		Payload    json.RawMessage
		Candidates []struct {
			Peer     connect.PeerID `json:"peer_id"`
			Manifest spoke.HostCapabilityManifest
		}
		Result struct {
			OK      bool
			Peer    connect.PeerID `json:"peer_id"`
			Code    spoke.Code
			Details map[string]any
		}
	}
}

func loadRouting(t testing.TB) routerVectors {
	t.Helper()
	var v routerVectors
	require.NoError(t, vectors.Load("router.json", &v))
	require.NotEmpty(t, v.Cases)
	return v
}

func TestPeersAreSelectedAsTheVectorsSay(t *testing.T) {
	for _, c := range loadRouting(t).Cases {
		t.Run(c.Op+" "+string(c.Payload), func(t *testing.T) {
			var candidates []connect.Candidate
			for i := range c.Candidates {
				candidates = append(candidates, connect.Candidate{Peer: c.Candidates[i].Peer, Manifest: &c.Candidates[i].Manifest})
			}
			for range len(candidates) + 1 { // in any order
				peer, err := connect.Select(c.Op, c.Payload, candidates)
				if c.Result.OK {
					require.NoError(t, err)
					assert.Equal(t, c.Result.Peer, peer)
				} else {
					requireReject(t, err, c.Result.Code, c.Result.Details)
				}
				if len(candidates) > 1 {
					candidates = append(candidates[1:], candidates[0])
				}
			}
		})
	}
}

// candidate returns a peer that has the capabilities and all that change adds.
func candidate(peer connect.PeerID, capabilities []string, change func(m *spoke.HostCapabilityManifest)) connect.Candidate {
	m := &spoke.HostCapabilityManifest{Capabilities: capabilities}
	if change != nil {
		change(m)
	}
	return connect.Candidate{Peer: peer, Manifest: m}
}

func TestTheRulesOfSelection(t *testing.T) {
	baseline := []string{connect.CapabilityBaseline}
	namespaces := func(names ...string) func(m *spoke.HostCapabilityManifest) {
		return func(m *spoke.HostCapabilityManifest) { m.Namespaces = names }
	}
	authority := func(key string) func(m *spoke.HostCapabilityManifest) {
		return func(m *spoke.HostCapabilityManifest) { m.Authority = &spoke.Authority{ScopeKey: key} }
	}
	roles := func(names ...string) func(m *spoke.HostCapabilityManifest) {
		return func(m *spoke.HostCapabilityManifest) { m.Roles = names }
	}
	of := func(list ...connect.Candidate) []connect.Candidate { return list }
	for _, c := range []struct {
		name, op, payload string
		candidates        []connect.Candidate
		want              connect.PeerID // "" for nobody
	}{
		{"the required capability, exactly", "port.knowledge.get", `{}`,
			of(candidate("a", []string{"spoke-baseline2", "spoke"}, nil), candidate("b", baseline, nil)), "b"},
		{"no manifest offers nothing", "upsert", `{}`, of(connect.Candidate{Peer: "a"}, candidate("b", baseline, nil)), "b"},
		{"a fork is a capability of its own", "port.fork.list_timeline_events", `{}`,
			of(candidate("a", baseline, nil), candidate("b", []string{connect.CapabilityFork}, nil)), "b"},
		{"nobody serves an op that the protocol does not know", "mystery.op", `{}`, of(candidate("a", []string{"mystery.op", "spoke-baseline"}, nil)), ""},
		{"nor a port that there is not", "port.knowledge.delete", `{}`, of(candidate("a", append(baseline, "port.knowledge.delete"), nil)), ""},
		{"a namespace at the top", "upsert", `{"namespace":"n"}`,
			of(candidate("a", baseline, namespaces("m")), candidate("b", baseline, namespaces("m", "n"))), "b"},
		{"a namespace in the scope", "upsert", `{"scope":{"namespace":"n"}}`,
			of(candidate("a", baseline, nil), candidate("b", baseline, namespaces("n"))), "b"},
		{"the top comes before the scope", "upsert", `{"namespace":"n","scope":{"namespace":"m"}}`,
			of(candidate("a", baseline, namespaces("m")), candidate("b", baseline, namespaces("n"))), "b"},
		{"a namespace that is no string says nothing", "upsert", `{"namespace":7,"scope":{"namespace":null}}`, of(candidate("a", baseline, nil)), "a"},
		{"one at the top that is no string gives way to the scope's", "upsert", `{"namespace":null,"scope":{"namespace":"n"}}`,
			of(candidate("a", baseline, nil), candidate("b", baseline, namespaces("n"))), "b"},
		{"a scope that is no object says nothing", "upsert", `{"scope":"namespace"}`, of(candidate("a", baseline, nil)), "a"},
		{"a namespace deeper down says nothing", "upsert", `{"entry":{"namespace":"n"}}`, of(candidate("a", baseline, nil)), "a"},
		{"an empty namespace is one", "upsert", `{"namespace":""}`,
			of(candidate("a", baseline, nil), candidate("b", baseline, namespaces(""))), "b"},
		{"an escaped namespace is the text it stands for", "upsert", `{"names\u0070ace":"\u006e"}`,
			of(candidate("a", baseline, nil), candidate("b", baseline, namespaces("n"))), "b"},
		{"a peer's wildcard is a name", "upsert", `{"namespace":"n"}`, of(candidate("a", baseline, namespaces("*"))), ""},
		{"so is the request's", "upsert", `{"namespace":"*"}`, of(candidate("a", baseline, namespaces("n"))), ""},
		{"without a namespace everybody will do", "upsert", `{}`, of(candidate("a", baseline, namespaces("m"))), "a"},
		{"another authority", "upsert", `{"scope_key":"k"}`,
			of(candidate("a", baseline, authority("j")), candidate("b", baseline, authority("k"))), "b"},
		{"another authority, from the scope", "upsert", `{"scope":{"scope_key":"k"}}`, of(candidate("a", baseline, authority("j"))), ""},
		{"the peer alone states one", "upsert", `{}`, of(candidate("a", baseline, authority("j"))), "a"},
		{"the request alone states one", "upsert", `{"scope_key":"k"}`, of(candidate("a", baseline, nil)), "a"},
		{"an authority that matches is no better than none", "upsert", `{"scope_key":"k"}`,
			of(candidate("a", baseline, nil), candidate("b", baseline, authority("k"))), "a"},
		{"check prefers a checker", "check", `{}`,
			of(candidate("a", baseline, roles("assembler")), candidate("b", baseline, roles("x", "checker"))), "b"},
		{"assemble prefers an assembler", "assemble", `{}`,
			of(candidate("a", baseline, roles("checker")), candidate("b", baseline, roles("assembler"))), "b"},
		{"compute prefers its role", "compute", `{}`,
			of(candidate("a", []string{connect.CapabilityComputable}, nil), candidate("b", []string{connect.CapabilityComputable}, roles("l2-computable"))), "b"},
		{"project as well", "project", `{}`,
			of(candidate("a", []string{connect.CapabilityComputable}, nil), candidate("b", []string{connect.CapabilityComputable}, roles("l2-computable"))), "b"},
		{"a port prefers nobody", "port.computable.project", `{}`,
			of(candidate("a", []string{connect.CapabilityComputable}, nil), candidate("b", []string{connect.CapabilityComputable}, roles("l2-computable"))), "a"},
		{"nobody with the role: the others will do", "check", `{}`, of(candidate("b", baseline, nil), candidate("a", baseline, nil)), "a"},
		{"a role does not stand in for a capability", "check", `{}`, of(candidate("a", nil, roles("checker")), candidate("b", baseline, nil)), "b"},
		{"a tie goes to the lowest id by bytes", "upsert", `{}`,
			of(candidate("b", baseline, nil), candidate("a", baseline, nil), candidate("Z", baseline, nil), candidate("ZZ", baseline, nil)), "Z"},
		{"a tool needs itself", echoTool, `{}`, of(candidate("a", append(baseline, otherTool), nil), candidate("b", []string{echoTool}, nil)), "b"},
		{"and nothing else", echoTool, `{"namespace":"n","scope_key":"k"}`,
			of(candidate("a", []string{echoTool}, authority("j"))), "a"},
		{"nobody is there", "upsert", `{}`, nil, ""},
		{"no payload at all", "upsert", ``, of(candidate("a", baseline, namespaces("m"))), "a"},
		{"a payload that is no object", "upsert", `["namespace"]`, of(candidate("a", baseline, nil)), "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var payload json.RawMessage
			if c.payload != "" {
				payload = json.RawMessage(c.payload)
			}
			before := slices.Clone(c.candidates)
			peer, err := connect.Select(c.op, payload, c.candidates)
			assert.Equal(t, before, c.candidates, "the arguments stay as they were")
			assert.Equal(t, c.want, peer)
			if c.want == "" {
				requireReject(t, err, spoke.CodeCapabilityPortMissing, nobody(c.op))
				return
			}
			require.NoError(t, err)
		})
	}
}

// nobody is the details of a reject when nobody fits.
func nobody(op string) map[string]any {
	return map[string]any{"kind": "no_capable_peer", "wire_code": "no_capable_peer", "op": op}
}

func TestAPayloadThatIsNoJSONSelectsNobody(t *testing.T) {
	for _, payload := range []string{`{`, `{"scope":{},"scope":{}}`, ` `, `{} {}`} {
		_, err := connect.Select("upsert", json.RawMessage(payload), []connect.Candidate{candidate("a", []string{connect.CapabilityBaseline}, nil)})
		requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"field": "payload"})
	}
}

func FuzzSelect(f *testing.F) {
	for _, c := range loadRouting(f).Cases {
		f.Add(c.Op, []byte(c.Payload))
	}
	candidates := []connect.Candidate{
		candidate("b", []string{connect.CapabilityBaseline, echoTool}, func(m *spoke.HostCapabilityManifest) { m.Namespaces = []string{"*", "toy_world"} }),
		candidate("a", []string{connect.CapabilityBaseline}, nil),
	}
	f.Fuzz(func(t *testing.T, op string, payload []byte) {
		peer, err := connect.Select(op, payload, candidates)
		slices.Reverse(candidates)
		again, _ := connect.Select(op, payload, candidates)
		require.Equal(t, peer, again)
		if err != nil {
			require.Empty(t, peer)
			require.Contains(t, []spoke.Code{spoke.CodeCapabilityPortMissing, spoke.CodeInvalidInput}, spoke.CodeOf(err))
		}
	})
}

func TestAnAuthorityThatStatesNoScopeKeyIsNotFiltered(t *testing.T) {
	for authority, fits := range map[string]bool{`{}`: true, `{"scope_key":null}`: true, `{"scope_key":5}`: true, `null`: true, `{"scope_key":"a"}`: true, `{"scope_key":"b"}`: false} {
		m, _, err := manifest.Decode(raw(`{"capabilities":["spoke-baseline"],"authority":%s}`, authority))
		require.NoError(t, err)
		_, err = connect.Select("check", raw(`{"scope_key":"a"}`), []connect.Candidate{{Peer: "p", Manifest: &m}})
		assert.Equal(t, fits, err == nil, authority)
	}
}
