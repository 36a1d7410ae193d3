package spoke

import "context"

// The port interfaces are what a host can serve, by family. A provider implements the
// families that it has; a session finds out by type assertion and denies the rest. Every
// method is called concurrently. Failures are as for a [ToolHandler]: a [*Reject] in the
// error's chain is what the caller sees.
//
// Values that a method gets are the callee's to keep; values that it returns must not
// change afterwards.

// KnowledgePort stores entries. PutKnowledgeEntry is a compare-and-swap on the revision,
// with the rules of [NextRevision], and returns the entry as it was stored.
// GetKnowledgeEntry rejects an unknown id with KNOWLEDGE_ENTRY_NOT_FOUND.
//
// Source: wire spec, section 7.
type KnowledgePort interface {
	GetKnowledgeEntry(ctx context.Context, entryID string) (KnowledgeEntry, error)
	PutKnowledgeEntry(ctx context.Context, entry KnowledgeEntry, expectedBaseRevision *int64) (KnowledgeEntry, error)
}

// RelationPort stores relations as a [KnowledgePort] stores entries; an unknown id is
// RELATION_NOT_FOUND.
type RelationPort interface {
	GetRelation(ctx context.Context, relationID string) (Relation, error)
	PutRelation(ctx context.Context, relation Relation, expectedBaseRevision *int64) (Relation, error)
}

// ScopePort lists what a scope selects; see [Scope.MatchesEntry] and
// [Scope.MatchesEvent].
type ScopePort interface {
	ListKnowledgeEntries(ctx context.Context, scope Scope) ([]KnowledgeEntry, error)
	ListTimelineEvents(ctx context.Context, scope Scope) ([]TimelineEvent, error)
}

// FindingPort stores findings, all or none, and returns them as they were stored.
type FindingPort interface {
	PutFindings(ctx context.Context, findings []Finding) ([]Finding, error)
}

// RulePort finds rules by id, in the order of the ids.
type RulePort interface {
	ListRules(ctx context.Context, ruleRefs []string) ([]Rule, error)
}

// HostPort lists the manifests of the other peers that a host knows.
type HostPort interface {
	ListPeerHostCapabilityManifests(ctx context.Context) ([]HostCapabilityManifest, error)
}

// ComputablePort runs computations on entries; it needs capability l2-computable.
type ComputablePort interface {
	Project(ctx context.Context, request ProjectRequest) (ProjectResponse, error)
	Compute(ctx context.Context, request ComputeRequest) (ComputeResponse, error)
}

// ForkPort lists the events of one branch of history, the scope's ForkID, which is never
// nil here; it needs capability l5-fork.
type ForkPort interface {
	ListForkTimelineEvents(ctx context.Context, scope Scope) ([]TimelineEvent, error)
}

// Ports is every family at once.
type Ports interface {
	KnowledgePort
	RelationPort
	ScopePort
	FindingPort
	RulePort
	HostPort
	ComputablePort
	ForkPort
}
