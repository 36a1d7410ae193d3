package connect_test

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

const (
	anEntry    = `{"body":{"summary":"A bell."},"canonical_name":"Bell","entry_id":"bell","entry_type":"item","extensions":{},"schema_version":1,"status":"confirmed"}`
	aRelation  = `{"extensions":{},"from_id":"a","relation_id":"r","relation_type":"near","schema_version":1,"to_id":"b"}`
	anEvent    = `{"canonical_name":"Storm","extensions":{},"schema_version":1,"timeline_event_id":"storm"}`
	aFinding   = `{"description":"d","extensions":{},"finding_id":"f","schema_version":1,"severity":"info","status":"open","title":"t"}`
	aRule      = `{"canonical_name":"Rule","extensions":{},"kind":"rule","rule_id":"u","schema_version":1}`
	aManifest  = `{"capabilities":["spoke-baseline"],"extensions":{},"host_id":"h","namespaces":["n"],"roles":["checker"],"schema_version":1}`
	aResponse  = `{"computable":{"n":3},"entry_id":"bell","session_id":"s"}`
	aScope     = `{"scope":{"entry_ids":[],"scope_id":"harbor"}}`
	aForkScope = `{"scope":{"fork_id":"storm","scope_id":"harbor"}}`
)

// decoded returns text as a T.
func decoded[T any](text string) T {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// portCase is one op with payloads and answers that are right and wrong.
type portCase struct {
	op, capability string
	payload        string // what the typed method sends
	answer         string
	drive          func(ctx context.Context, p connect.Ports) (any, error)

	// badPayloads maps a payload to the field that the reject names.
	badPayloads map[string]string
	badAnswers  []string
}

// asAny gives the result of a typed method to drive.
func asAny[T any](v T, err error) (any, error) { return v, err }

var (
	badObjects = []string{`null`, `7`, `"x"`, `[]`, `{}`, `true`}
	badLists   = []string{`null`, `7`, `"x"`, `{}`, `[7]`, `[null]`, `[{}]`, `[[]]`}
)

var portCases = []portCase{
	{
		"port.knowledge.get", connect.CapabilityBaseline, `{"entry_id":"bell"}`, anEntry,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.GetKnowledgeEntry(ctx, "bell"))
		},
		map[string]string{`{}`: "entry_id", `{"entry_id":7}`: "entry_id", `{"entry_id":null}`: "entry_id"},
		append(badObjects, `{"body":{},"canonical_name":"","entry_id":"bell","entry_type":"item","extensions":{},"schema_version":1,"status":"confirmed"}`),
	},
	{
		"port.knowledge.put", connect.CapabilityBaseline, `{"entry":` + anEntry + `,"expected_base_revision":null}`, anEntry,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.PutKnowledgeEntry(ctx, decoded[spoke.KnowledgeEntry](anEntry), nil))
		},
		map[string]string{
			`{"entry":` + anEntry + `}`:                                  `expected_base_revision`,
			`{"entry":` + anEntry + `,"expected_base_revision":"1"}`:     "expected_base_revision",
			`{"entry":` + anEntry + `,"expected_base_revision":1.5}`:     "expected_base_revision",
			`{"expected_base_revision":null}`:                            "entry",
			`{"entry":{},"expected_base_revision":null}`:                 "entry.schema_version",
			`{"entry":{"body":{"tags":[1]}},"expected_base_revision":1}`: "entry.body.tags[0]",
		},
		badObjects,
	},
	{
		"port.relation.get", connect.CapabilityBaseline, `{"relation_id":"r"}`, aRelation,
		func(ctx context.Context, p connect.Ports) (any, error) { return asAny(p.GetRelation(ctx, "r")) },
		map[string]string{`{}`: "relation_id", `{"relation_id":[]}`: "relation_id"},
		badObjects,
	},
	{
		"port.relation.put", connect.CapabilityBaseline, `{"expected_base_revision":4,"relation":` + aRelation + `}`, aRelation,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.PutRelation(ctx, decoded[spoke.Relation](aRelation), new(int64(4))))
		},
		map[string]string{
			`{"relation":` + aRelation + `}`:                         "expected_base_revision",
			`{"expected_base_revision":null,"relation":{"to_id":7}}`: "relation.to_id",
		},
		badObjects,
	},
	{
		"port.scope.list_knowledge_entries", connect.CapabilityBaseline, aScope, `[` + anEntry + `]`,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.ListKnowledgeEntries(ctx, spoke.Scope{ScopeID: "harbor", EntryIDs: []string{}}))
		},
		badScopes, badLists,
	},
	{
		"port.scope.list_timeline_events", connect.CapabilityBaseline, aScope, `[` + anEvent + `]`,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.ListTimelineEvents(ctx, spoke.Scope{ScopeID: "harbor", EntryIDs: []string{}}))
		},
		badScopes, badLists,
	},
	{
		"port.finding.put", connect.CapabilityBaseline, `{"findings":[` + aFinding + `]}`, `[` + aFinding + `]`,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.PutFindings(ctx, []spoke.Finding{decoded[spoke.Finding](aFinding)}))
		},
		map[string]string{`{}`: "findings", `{"findings":{}}`: "findings", `{"findings":[` + aFinding + `,{"title":7}]}`: "findings[1].title"},
		badLists,
	},
	{
		"port.rule.list", connect.CapabilityBaseline, `{"rule_refs":[]}`, `[` + aRule + `]`,
		func(ctx context.Context, p connect.Ports) (any, error) { return asAny(p.ListRules(ctx, nil)) },
		map[string]string{`{}`: "rule_refs", `{"rule_refs":["a",7]}`: "rule_refs[1]", `{"rule_refs":null}`: "rule_refs"},
		badLists,
	},
	{
		"port.host.list_peer_manifests", connect.CapabilityBaseline, `{}`, `[` + aManifest + `]`,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.ListPeerHostCapabilityManifests(ctx))
		},
		nil, badLists,
	},
	{
		"port.computable.project", connect.CapabilityComputable, `{"entry_id":"bell","session_id":"s","state":{"n":3}}`, aResponse,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.Project(ctx, spoke.ProjectRequest{SessionID: "s", EntryID: "bell", State: spoke.Fields{"n": raw("3")}}))
		},
		map[string]string{`{}`: "session_id", `{"entry_id":"bell","session_id":"s"}`: "state", `{"state":[]}`: "state"},
		append(badObjects, `{"error":{}}`, `{"entry_id":"bell","session_id":"s"}`),
	},
	{
		"port.computable.compute", connect.CapabilityComputable, `{"computable":{"n":4},"entry_id":"bell","session_id":"s","settle":true}`, aResponse,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.Compute(ctx, spoke.ComputeRequest{SessionID: "s", EntryID: "bell", Computable: spoke.Fields{"n": raw("4")}, Settle: new(true)}))
		},
		map[string]string{`{}`: "session_id", `{"settle":"yes"}`: "settle", `{"computable":7}`: "computable"},
		append(badObjects, `{"error":{"code":7}}`),
	},
	{
		"port.fork.list_timeline_events", connect.CapabilityFork, aForkScope, `[` + anEvent + `]`,
		func(ctx context.Context, p connect.Ports) (any, error) {
			return asAny(p.ListForkTimelineEvents(ctx, spoke.Scope{ScopeID: "harbor", ForkID: new("storm")}))
		},
		map[string]string{`{}`: "scope", aScope: "scope.fork_id", `{"scope":{"fork_id":"","scope_id":"x"}}`: "scope.fork_id"},
		badLists,
	},
}

var badScopes = map[string]string{
	`{}`:           "scope",
	`{"scope":{}}`: "scope.scope_id",
	`{"scope":{"entry_ids":"x","scope_id":"s"}}`:              "scope.entry_ids",
	`{"scope":{"extensions":{"A":{}},"scope_id":"s"}}`:        "scope.extensions",
	`{"scope":{"extensions":{"toy":7},"scope_id":"s"}}`:       "scope.extensions.toy",
	`{"scope":{"scope_id":"s","timeline_event_ids":[false]}}`: "scope.timeline_event_ids[0]",
}
