package connect

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Invoker sends one request and returns its success payload. Failures are
// [*spoke.Reject]. A [Session] is one.
type Invoker interface {
	Invoke(ctx context.Context, op string, payload any) (json.RawMessage, error)
}

// Ports are the ports of a peer as typed methods, over anything that can invoke. They
// implement [spoke.Ports]. Failures are as for
// [Session.Invoke]; an answer of the wrong shape is INTERNAL_ERROR of kind transport.
// Safe for concurrent use as the invoker is. The zero value is not usable.
//
// Source: wire spec, section 7.
type Ports struct{ invoker Invoker }

// NewPorts returns the ports of the peer that invoker reaches. A [RemoteAdapter] has
// them already.
func NewPorts(invoker Invoker) Ports { return Ports{invoker} }

var _ spoke.Ports = Ports{}

// GetKnowledgeEntry implements [spoke.KnowledgePort].
func (p Ports) GetKnowledgeEntry(ctx context.Context, entryID string) (spoke.KnowledgeEntry, error) {
	return portKnowledgeGet.drive(ctx, p, entryPayload{entryID})
}

// PutKnowledgeEntry implements [spoke.KnowledgePort].
func (p Ports) PutKnowledgeEntry(ctx context.Context, entry spoke.KnowledgeEntry, expectedBaseRevision *int64) (spoke.KnowledgeEntry, error) {
	return portKnowledgePut.drive(ctx, p, putEntryPayload{entry, expectedBaseRevision})
}

// GetRelation implements [spoke.RelationPort].
func (p Ports) GetRelation(ctx context.Context, relationID string) (spoke.Relation, error) {
	return portRelationGet.drive(ctx, p, relationPayload{relationID})
}

// PutRelation implements [spoke.RelationPort].
func (p Ports) PutRelation(ctx context.Context, relation spoke.Relation, expectedBaseRevision *int64) (spoke.Relation, error) {
	return portRelationPut.drive(ctx, p, putRelationPayload{relation, expectedBaseRevision})
}

// ListKnowledgeEntries implements [spoke.ScopePort].
func (p Ports) ListKnowledgeEntries(ctx context.Context, scope spoke.Scope) ([]spoke.KnowledgeEntry, error) {
	return portScopeEntries.drive(ctx, p, scopePayload{scope})
}

// ListTimelineEvents implements [spoke.ScopePort].
func (p Ports) ListTimelineEvents(ctx context.Context, scope spoke.Scope) ([]spoke.TimelineEvent, error) {
	return portScopeEvents.drive(ctx, p, scopePayload{scope})
}

// PutFindings implements [spoke.FindingPort].
func (p Ports) PutFindings(ctx context.Context, findings []spoke.Finding) ([]spoke.Finding, error) {
	return portFindingPut.drive(ctx, p, findingsPayload{findings})
}

// ListRules implements [spoke.RulePort].
func (p Ports) ListRules(ctx context.Context, ruleRefs []string) ([]spoke.Rule, error) {
	return portRuleList.drive(ctx, p, rulesPayload{ruleRefs})
}

// ListPeerHostCapabilityManifests implements [spoke.HostPort].
func (p Ports) ListPeerHostCapabilityManifests(ctx context.Context) ([]spoke.HostCapabilityManifest, error) {
	return portPeerManifests.drive(ctx, p, noPayload{})
}

// Project implements [spoke.ComputablePort]. A response that carries an error is
// returned as that error's reject.
func (p Ports) Project(ctx context.Context, request spoke.ProjectRequest) (spoke.ProjectResponse, error) {
	response, err := portProject.drive(ctx, p, request)
	if err == nil && response.Error != nil {
		return spoke.ProjectResponse{}, response.Error.Reject()
	}
	return response, err
}

// Compute implements [spoke.ComputablePort]. A response that carries an error is
// returned as that error's reject.
func (p Ports) Compute(ctx context.Context, request spoke.ComputeRequest) (spoke.ComputeResponse, error) {
	response, err := portCompute.drive(ctx, p, request)
	if err == nil && response.Error != nil {
		return spoke.ComputeResponse{}, response.Error.Reject()
	}
	return response, err
}

// ListForkTimelineEvents implements [spoke.ForkPort].
func (p Ports) ListForkTimelineEvents(ctx context.Context, scope spoke.Scope) ([]spoke.TimelineEvent, error) {
	return portForkEvents.drive(ctx, p, scopePayload{scope})
}
