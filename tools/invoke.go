package tools

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Orchestrate runs one tool on an invoker that may be missing. An id outside the
// grammar is INVALID_INPUT; then a nil invoker is CAPABILITY_PORT_MISSING with the id
// as details.capability; then the invoker's answer is returned as it is. Arguments are
// the invoker's to judge.
//
// Source: wire spec, section 6.
func Orchestrate(ctx context.Context, invoker spoke.ToolInvoker, id string, args any) (json.RawMessage, error) {
	if err := gate(id); err != nil {
		return nil, err
	}
	if invoker == nil {
		return nil, spoke.Rejectf(spoke.CodeCapabilityPortMissing, "nobody to invoke %s", id).
			WithDetail(detailCapability, id)
	}
	return invoker.InvokeTool(ctx, id, args)
}

// Call runs a tool with Go values on both ends: in is encoded as the tool's arguments,
// the result is decoded into an Out. Encoding is as for [New], from the other side. It
// fails as [Orchestrate] does, and with INTERNAL_ERROR of kind transport when the
// result is no Out. A result's members that Out does not have are skipped.
func Call[In, Out any](ctx context.Context, invoker spoke.ToolInvoker, id string, in In) (Out, error) {
	var out Out
	result, err := Orchestrate(ctx, invoker, id, in)
	if err != nil {
		return out, err
	}
	if err := wirejson.Into(result, &out, nil); err != nil {
		var zero Out
		return zero, spoke.Rejectf(spoke.CodeInternalError, "the result of %s cannot be read", id).
			WithKind(spoke.KindTransport).WithCause(err)
	}
	return out, nil
}

// gate refuses an id outside the grammar.
func gate(id string) error {
	_, _, err := manifest.ParseToolID(id)
	return err
}

// encodeArguments returns arguments as a canonical JSON object, nil as {}.
func encodeArguments(args any) (json.RawMessage, error) {
	if raw, ok := args.(json.RawMessage); args == nil || ok && raw == nil {
		return json.RawMessage("{}"), nil
	}
	raw, err := wirejson.Raw(args)
	if err == nil {
		raw, err = jcs.CanonicalExact(raw, 0)
	}
	if err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "arguments: %w", err).WithDetail(spoke.DetailField, "arguments")
	}
	if raw[0] != '{' {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "arguments must be a JSON object").
			WithDetail(spoke.DetailField, "arguments")
	}
	return raw, nil
}
