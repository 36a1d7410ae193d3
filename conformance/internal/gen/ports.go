package main

import "strings"

// port is one op of the port table: the capability that it requires, the members of
// its payload, and what a success carries.
type port struct {
	Op       string   `json:"op"`
	Requires string   `json:"requires"`
	Payload  []string `json:"payload"`
	Optional []string `json:"optional,omitempty"`
	Success  string   `json:"success"`
	request  string   // an example payload, canonical
}

func portTable() []port {
	const baseline, computable = "spoke-baseline", "l2-computable"
	return []port{
		{Op: "port.knowledge.get", Requires: baseline, Payload: []string{"entry_id"}, Success: "KnowledgeEntry",
			request: `{"entry_id":"harbor/item/compass"}`},
		{Op: "port.knowledge.put", Requires: baseline, Payload: []string{"entry", "expected_base_revision"}, Success: "KnowledgeEntry",
			request: `{"entry":{"body":{},"canonical_name":"Compass","entry_id":"harbor/item/compass","entry_type":"item","extensions":{},"schema_version":1,"status":"provisional"},"expected_base_revision":null}`},
		{Op: "port.relation.get", Requires: baseline, Payload: []string{"relation_id"}, Success: "Relation",
			request: `{"relation_id":"harbor/relation/1"}`},
		{Op: "port.relation.put", Requires: baseline, Payload: []string{"relation", "expected_base_revision"}, Success: "Relation",
			request: `{"expected_base_revision":3,"relation":{"relation_id":"harbor/relation/1"}}`},
		{Op: "port.scope.list_knowledge_entries", Requires: baseline, Payload: []string{"scope"}, Success: "KnowledgeEntry[]",
			request: `{"scope":{"scope_id":"harbor"}}`},
		{Op: "port.scope.list_timeline_events", Requires: baseline, Payload: []string{"scope"}, Success: "TimelineEvent[]",
			request: `{"scope":{"scope_id":"harbor"}}`},
		{Op: "port.finding.put", Requires: baseline, Payload: []string{"findings"}, Success: "Finding[]",
			request: `{"findings":[]}`},
		{Op: "port.rule.list", Requires: baseline, Payload: []string{"rule_refs"}, Success: "Rule[]",
			request: `{"rule_refs":["harbor/rule/1"]}`},
		{Op: "port.host.list_peer_manifests", Requires: baseline, Payload: []string{}, Success: "HostCapabilityManifest[]",
			request: `{}`},
		{Op: "port.computable.project", Requires: computable, Payload: []string{"session_id", "entry_id", "state"}, Success: "ProjectResponse",
			request: `{"entry_id":"harbor/location/harbor","session_id":"s","state":{"ships":3}}`},
		{Op: "port.computable.compute", Requires: computable, Payload: []string{"session_id", "entry_id", "computable"}, Optional: []string{"settle"}, Success: "ComputeResponse",
			request: `{"computable":{"tide":"rising"},"entry_id":"harbor/location/harbor","session_id":"s","settle":true}`},
		{Op: "port.fork.list_timeline_events", Requires: "l5-fork", Payload: []string{"scope"}, Success: "TimelineEvent[]",
			request: `{"scope":{"fork_id":"harbor/fork/storm","scope_id":"harbor"}}`},
	}
}

func ports() file {
	table, k := portTable(), appKey
	sign := make([]signCase, len(table))
	for i, p := range table {
		sign[i] = signBody(k, p.Op, "request", i, p.request, p.request)
		sign[i].retarget(k, p.Op)
	}
	return file{
		group: "ports", rule: "wire spec, section 7",
		about:  "the port ops: what each requires, the members of its payload, its success, and a signed request",
		shared: []member{{"seed_hex", k.seedHex()}, {"pubkey_hex", k.publicHex()}},
		lists:  []list{listOf("cases", table), listOf("sign", sign)},
	}
}

// retarget turns a request to the tool into one to op.
func (c *signCase) retarget(k key, op string) {
	text := strings.Replace(string(c.Unsigned), "tools.conformance.echo", op, 1)
	c.Unsigned = []byte(text)
	c.JCS = hexOf(text)
	c.Envelope = []byte(k.seal(text))
}
