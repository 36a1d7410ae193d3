package connect

import (
	"context"
	"maps"
	"slices"

	"github.com/spoke-peer/spoke-go/spoke"
)

// The rows of wire spec, section 7.
var (
	portKnowledgeGet = portRow[spoke.KnowledgePort, entryPayload, spoke.KnowledgeEntry]{
		"port.knowledge.get", CapabilityBaseline,
		func(ctx context.Context, f spoke.KnowledgePort, p entryPayload) (spoke.KnowledgeEntry, error) {
			return f.GetKnowledgeEntry(ctx, p.EntryID)
		},
	}
	portKnowledgePut = portRow[spoke.KnowledgePort, putEntryPayload, spoke.KnowledgeEntry]{
		"port.knowledge.put", CapabilityBaseline,
		func(ctx context.Context, f spoke.KnowledgePort, p putEntryPayload) (spoke.KnowledgeEntry, error) {
			return f.PutKnowledgeEntry(ctx, p.Entry, p.ExpectedBaseRevision)
		},
	}
	portRelationGet = portRow[spoke.RelationPort, relationPayload, spoke.Relation]{
		"port.relation.get", CapabilityBaseline,
		func(ctx context.Context, f spoke.RelationPort, p relationPayload) (spoke.Relation, error) {
			return f.GetRelation(ctx, p.RelationID)
		},
	}
	portRelationPut = portRow[spoke.RelationPort, putRelationPayload, spoke.Relation]{
		"port.relation.put", CapabilityBaseline,
		func(ctx context.Context, f spoke.RelationPort, p putRelationPayload) (spoke.Relation, error) {
			return f.PutRelation(ctx, p.Relation, p.ExpectedBaseRevision)
		},
	}
	portScopeEntries = portRow[spoke.ScopePort, scopePayload, []spoke.KnowledgeEntry]{
		"port.scope.list_knowledge_entries", CapabilityBaseline,
		func(ctx context.Context, f spoke.ScopePort, p scopePayload) ([]spoke.KnowledgeEntry, error) {
			return f.ListKnowledgeEntries(ctx, p.Scope)
		},
	}
	portScopeEvents = portRow[spoke.ScopePort, scopePayload, []spoke.TimelineEvent]{
		"port.scope.list_timeline_events", CapabilityBaseline,
		func(ctx context.Context, f spoke.ScopePort, p scopePayload) ([]spoke.TimelineEvent, error) {
			return f.ListTimelineEvents(ctx, p.Scope)
		},
	}
	portFindingPut = portRow[spoke.FindingPort, findingsPayload, []spoke.Finding]{
		"port.finding.put", CapabilityBaseline,
		func(ctx context.Context, f spoke.FindingPort, p findingsPayload) ([]spoke.Finding, error) {
			return f.PutFindings(ctx, p.Findings)
		},
	}
	portRuleList = portRow[spoke.RulePort, rulesPayload, []spoke.Rule]{
		"port.rule.list", CapabilityBaseline,
		func(ctx context.Context, f spoke.RulePort, p rulesPayload) ([]spoke.Rule, error) {
			return f.ListRules(ctx, p.RuleRefs)
		},
	}
	portPeerManifests = portRow[spoke.HostPort, noPayload, []spoke.HostCapabilityManifest]{
		"port.host.list_peer_manifests", CapabilityBaseline,
		func(ctx context.Context, f spoke.HostPort, _ noPayload) ([]spoke.HostCapabilityManifest, error) {
			return f.ListPeerHostCapabilityManifests(ctx)
		},
	}
	portProject = portRow[spoke.ComputablePort, spoke.ProjectRequest, spoke.ProjectResponse]{
		"port.computable.project", CapabilityComputable,
		func(ctx context.Context, f spoke.ComputablePort, p spoke.ProjectRequest) (spoke.ProjectResponse, error) {
			return f.Project(ctx, p)
		},
	}
	portCompute = portRow[spoke.ComputablePort, spoke.ComputeRequest, spoke.ComputeResponse]{
		"port.computable.compute", CapabilityComputable,
		func(ctx context.Context, f spoke.ComputablePort, p spoke.ComputeRequest) (spoke.ComputeResponse, error) {
			return f.Compute(ctx, p)
		},
	}
	portForkEvents = portRow[spoke.ForkPort, scopePayload, []spoke.TimelineEvent]{
		"port.fork.list_timeline_events", CapabilityFork,
		func(ctx context.Context, f spoke.ForkPort, p scopePayload) ([]spoke.TimelineEvent, error) {
			if p.Scope.ForkID == nil {
				return nil, spoke.Rejectf(spoke.CodeInvalidInput, "scope.fork_id is missing").WithDetail(spoke.DetailField, "scope.fork_id")
			}
			return f.ListForkTimelineEvents(ctx, p.Scope)
		},
	}
)

// portOps are the rows by op.
var portOps = func() map[string]portOp {
	ops := make(map[string]portOp)
	for _, row := range []portOp{
		&portKnowledgeGet, &portKnowledgePut, &portRelationGet, &portRelationPut,
		&portScopeEntries, &portScopeEvents, &portFindingPut, &portRuleList,
		&portPeerManifests, &portProject, &portCompute, &portForkEvents,
	} {
		ops[row.name()] = row
	}
	return ops
}()

// PortCapability returns the capability that a port requires, false for an op that is
// not a port of the protocol.
//
// Source: wire spec, section 7.
func PortCapability(op string) (string, bool) {
	row, ok := portOps[op]
	if !ok {
		return "", false
	}
	return row.required(), true
}

// PortOps lists the ops of ports that the protocol has, sorted.
//
// Source: wire spec, section 7.
func PortOps() []string { return slices.Sorted(maps.Keys(portOps)) }
