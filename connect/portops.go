package connect

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/spoke"
)

// portRow is one op of a port: its name, the capability that it requires, the family of
// the provider that serves it, and the types of its payload and of its result. The typed
// method of [Ports] and the dispatch of a session both come from the row.
//
// Source: wire spec, section 7.
type portRow[Family, Payload, Result any] struct {
	op         string
	capability string
	call       func(context.Context, Family, Payload) (Result, error)
}

// portOp is a row without its types.
type portOp interface {
	name() string
	required() string
	handler(provider any) (handleFunc, bool)
}

func (r *portRow[Family, Payload, Result]) name() string     { return r.op }
func (r *portRow[Family, Payload, Result]) required() string { return r.capability }

// handler returns what serves the op, false if the provider does not have the family.
func (r *portRow[Family, Payload, Result]) handler(provider any) (handleFunc, bool) {
	family, ok := provider.(Family)
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		return r.serve(ctx, family, payload)
	}, true
}

// serve decodes the payload, calls the provider and checks that the result has the shape
// that the other side will insist on.
func (r *portRow[Family, Payload, Result]) serve(ctx context.Context, family Family, payload json.RawMessage) (any, error) {
	var args Payload
	if err := shape.Decode(payload, &args); err != nil {
		return nil, payloadReject(r.op, err)
	}
	value, err := r.call(ctx, family, args)
	if err != nil {
		return nil, err
	}
	raw, err := wirejson.Raw(value)
	if err == nil {
		err = shape.Check[Result](raw)
	}
	if err != nil {
		return nil, resultReject(err)
	}
	return raw, nil
}

// payloadReject names the member of a payload that does not fit.
func payloadReject(op string, err error) *spoke.Reject {
	field := "payload"
	if wrong, ok := errors.AsType[*shape.Error](err); ok && wrong.Field != "" {
		field = wrong.Field
	}
	return spoke.Rejectf(spoke.CodeInvalidInput, "%s: %w", op, err).WithDetail(spoke.DetailField, field)
}

// drive asks for the op and reads the answer.
func (r *portRow[Family, Payload, Result]) drive(ctx context.Context, p Ports, payload Payload) (Result, error) {
	var value Result
	raw, err := p.invoker.Invoke(ctx, r.op, payload)
	if err != nil {
		return value, err
	}
	if err := shape.Decode(raw, &value); err != nil {
		return value, transportReject("the answer to %s has the wrong shape: %w", r.op, err)
	}
	return value, nil
}

// The payloads of the ports.
type (
	entryPayload struct {
		EntryID string `json:"entry_id" wire:"required"`
	}
	putEntryPayload struct {
		Entry                spoke.KnowledgeEntry `json:"entry" wire:"required"`
		ExpectedBaseRevision *int64               `json:"expected_base_revision" wire:"required,null"`
	}
	relationPayload struct {
		RelationID string `json:"relation_id" wire:"required"`
	}
	putRelationPayload struct {
		Relation             spoke.Relation `json:"relation" wire:"required"`
		ExpectedBaseRevision *int64         `json:"expected_base_revision" wire:"required,null"`
	}
	scopePayload struct {
		Scope spoke.Scope `json:"scope" wire:"required"`
	}
	findingsPayload struct {
		Findings []spoke.Finding `json:"findings" wire:"required"`
	}
	rulesPayload struct {
		RuleRefs []string `json:"rule_refs" wire:"required"`
	}
	noPayload struct{}
)
