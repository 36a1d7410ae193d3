package connect_test

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/spoke"
)

// stub is a provider of every family. It notes what it was asked, as the payload of the
// op, and answers what it was told to: fail, unless nil, or spoiled values.
type stub struct {
	mu     sync.Mutex
	asked  []string
	fail   error
	spoilt bool
	during func(ctx context.Context)
}

func (s *stub) note(ctx context.Context, payload map[string]any) error {
	text, err := wirejson.Raw(payload)
	if err == nil {
		text, err = jcs.Canonical(text)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.asked = append(s.asked, string(text))
	s.mu.Unlock()
	if s.during != nil {
		s.during(ctx)
	}
	return s.fail
}

func (s *stub) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	return s.asked[len(s.asked)-1]
}

// answer returns text as a T, or the zero T, which has the wrong shape, or a list of it.
func answer[T any](s *stub, text string, err error) (T, error) {
	var v T
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil || !s.spoilt {
		return v, err
	}
	var zero T
	return zero, nil
}

func answers[T any](s *stub, text string, err error) ([]T, error) {
	v, err := answer[T](s, text, err)
	return []T{v}, err
}

func (s *stub) GetKnowledgeEntry(ctx context.Context, id string) (spoke.KnowledgeEntry, error) {
	return answer[spoke.KnowledgeEntry](s, anEntry, s.note(ctx, object{"entry_id": id}))
}

func (s *stub) PutKnowledgeEntry(ctx context.Context, e spoke.KnowledgeEntry, base *int64) (spoke.KnowledgeEntry, error) {
	return answer[spoke.KnowledgeEntry](s, anEntry, s.note(ctx, object{"entry": e, "expected_base_revision": base}))
}

func (s *stub) GetRelation(ctx context.Context, id string) (spoke.Relation, error) {
	return answer[spoke.Relation](s, aRelation, s.note(ctx, object{"relation_id": id}))
}

func (s *stub) PutRelation(ctx context.Context, r spoke.Relation, base *int64) (spoke.Relation, error) {
	return answer[spoke.Relation](s, aRelation, s.note(ctx, object{"relation": r, "expected_base_revision": base}))
}

func (s *stub) ListKnowledgeEntries(ctx context.Context, scope spoke.Scope) ([]spoke.KnowledgeEntry, error) {
	return answers[spoke.KnowledgeEntry](s, anEntry, s.note(ctx, object{"scope": scope}))
}

func (s *stub) ListTimelineEvents(ctx context.Context, scope spoke.Scope) ([]spoke.TimelineEvent, error) {
	return answers[spoke.TimelineEvent](s, anEvent, s.note(ctx, object{"scope": scope}))
}

func (s *stub) PutFindings(ctx context.Context, f []spoke.Finding) ([]spoke.Finding, error) {
	return answers[spoke.Finding](s, aFinding, s.note(ctx, object{"findings": f}))
}

func (s *stub) ListRules(ctx context.Context, refs []string) ([]spoke.Rule, error) {
	return answers[spoke.Rule](s, aRule, s.note(ctx, object{"rule_refs": refs}))
}

func (s *stub) ListPeerHostCapabilityManifests(ctx context.Context) ([]spoke.HostCapabilityManifest, error) {
	return answers[spoke.HostCapabilityManifest](s, aManifest, s.note(ctx, object{}))
}

func (s *stub) Project(ctx context.Context, r spoke.ProjectRequest) (spoke.ProjectResponse, error) {
	err := s.note(ctx, object{"session_id": r.SessionID, "entry_id": r.EntryID, "state": r.State})
	if s.spoilt {
		return spoke.ProjectResponse{Extensions: spoke.Extensions{"Bad": nil}}, err
	}
	return answer[spoke.ProjectResponse](s, aResponse, err)
}

func (s *stub) Compute(ctx context.Context, r spoke.ComputeRequest) (spoke.ComputeResponse, error) {
	err := s.note(ctx, object{"session_id": r.SessionID, "entry_id": r.EntryID, "computable": r.Computable, "settle": r.Settle})
	if s.spoilt {
		return spoke.ComputeResponse{Extensions: spoke.Extensions{"Bad": nil}}, err
	}
	return answer[spoke.ComputeResponse](s, aResponse, err)
}

func (s *stub) ListForkTimelineEvents(ctx context.Context, scope spoke.Scope) ([]spoke.TimelineEvent, error) {
	return answers[spoke.TimelineEvent](s, anEvent, s.note(ctx, object{"scope": scope}))
}
