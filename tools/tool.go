package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"sync/atomic"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Tool is a tool that a [Registry] can offer: its descriptor, its metadata, compiled
// schemas and what serves it. It does not change and is safe for concurrent use. Make
// one with [New] or [Raw]; what is wrong with it, [Tool.Err] says, and registering it
// fails.
type Tool struct {
	descriptor spoke.ToolDescriptor
	meta       Metadata
	schemas    *manifest.ToolSchemas
	handler    spoke.ToolHandler
	running    *atomic.Int64
	err        error
}

// New returns a tool that a Go function serves. Its input and output schemas are
// inferred from In and Out, draft-07:
//
//   - a struct is a closed object with a member for each exported field, named as
//     encoding/json names it. A member is required unless its json tag has omitempty or
//     omitzero, or it has a default. A pointer may be null. Maps by string, slices,
//     arrays, any, time.Time, []byte (base64) and types with a text form are what
//     encoding/json makes of them;
//   - the struct tag jsonschema is the member's description; enum (values between
//     commas), minimum, maximum, minLength, maxLength, pattern, format, minItems,
//     maxItems and default write the keyword of that name;
//   - a type with a JSON form of its own says its schema as a [SchemaProvider].
//
// In must be an object: a struct, a map, or any for whatever comes. A type that cannot
// be expressed is an error that names the member.
//
// Arguments are checked against the input and decoded, defaults filled in, before fn
// runs; its result is encoded, nil slices as [], and checked against the output. An
// error of fn becomes a reject: a [*spoke.Reject] in its chain as it is, a [*Failure]
// with its code, anything else as INTERNAL_ERROR without its text.
//
// Source: wire spec, section 6.
func New[In, Out any](id, description string, fn func(ctx context.Context, in In) (Out, error)) *Tool {
	d := spoke.ToolDescriptor{CapabilityID: id, Description: description}
	in, err := inferArguments(reflect.TypeFor[In]())
	if err != nil {
		return &Tool{descriptor: d, err: typeReject(id, "input", err)}
	}
	out, err := inferResult(reflect.TypeFor[Out]())
	if err != nil {
		return &Tool{descriptor: d, err: typeReject(id, "output", err)}
	}
	d.Input, d.Output = in.schema, out.schema
	if fn == nil {
		return newTool(d, nil)
	}
	return newTool(d, func(ctx context.Context, args json.RawMessage) (any, error) {
		var v In
		if err := wirejson.Into(args, &v, in.defaults); err != nil {
			return nil, decodeReject(err)
		}
		return fn(ctx, v)
	})
}

// typeReject says which part of a Go type cannot be expressed.
func typeReject(id, side string, err error) *spoke.Reject {
	r := invalid(id, "%s: %w", side, err).WithDetail(spoke.DetailField, side)
	if at, ok := errors.AsType[*typeError](err); ok {
		r = r.WithDetail(detailPath, at.path)
	}
	return r
}

// decodeReject is for arguments that fit the schema and not the Go type, such as 1e300
// for an int.
func decodeReject(err error) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInvalidInput, "arguments do not fit the tool's input").
		WithDetail(spoke.DetailField, "arguments").WithCause(err)
}

// Raw returns a tool with the given descriptor, served by handler on raw JSON. A zero
// SchemaVersion and Op are filled in. Arguments and results are checked as for [New]. The
// schemas are held to the bounds of [manifest.Own]; a peer need not run one that recurses.
func Raw(d spoke.ToolDescriptor, handler spoke.ToolHandler) *Tool { return newTool(d, handler) }

// newTool completes the descriptor, checks it and compiles its schemas.
func newTool(d spoke.ToolDescriptor, handler spoke.ToolHandler) *Tool {
	d.Input, d.Output, d.Unknown = bytes.Clone(d.Input), bytes.Clone(d.Output), maps.Clone(d.Unknown)
	t := &Tool{descriptor: d, handler: handler}
	if t.descriptor.SchemaVersion == 0 {
		t.descriptor.SchemaVersion = spoke.SchemaVersion
	}
	if t.descriptor.Op == "" {
		t.descriptor.Op = d.CapabilityID
	}
	t.err = t.check()
	meta := Metadata{}
	if d.Idempotent != nil {
		meta.Idempotent = *d.Idempotent
	}
	return t.With(meta)
}

// check judges the declaration and compiles the schemas, so that no call has to.
func (t *Tool) check() error {
	id := t.ID()
	if _, _, err := manifest.ParseToolID(id); err != nil {
		return err
	}
	if t.handler == nil {
		return invalid(id, "no handler")
	}
	text, err := json.Marshal(t.descriptor)
	if err != nil {
		return invalid(id, "%w", err)
	}
	if problems := manifest.ValidateOwnDescriptor(text); len(problems) > 0 {
		return invalid(id, "%w", manifest.Err(problems))
	}
	if t.schemas, err = manifest.CompileTool(t.descriptor, manifest.Own); err != nil {
		return invalid(id, "%w", err)
	}
	return nil
}

// With returns the tool with the given metadata in place of what it had. The copy
// counts its running calls by itself.
func (t *Tool) With(m Metadata) *Tool {
	c := *t
	c.running = new(atomic.Int64)
	c.meta = m.clone()
	namespace, _, err := manifest.ParseToolID(t.ID())
	if err != nil {
		return &c // Err tells
	}
	c.meta.setDefaults(t.ID(), namespace)
	if err := c.meta.check(); err != nil && c.err == nil {
		c.err = invalid(t.ID(), "%w", err)
	}
	c.descriptor.Idempotent = nil
	if m.Idempotent {
		c.descriptor.Idempotent = new(true)
	}
	return &c
}

// Err returns what is wrong with the tool, a [*spoke.Reject] of code INVALID_INPUT with
// details.capability_id, or nil. For a Go type that cannot be expressed, details.field
// is "input" or "output" and details.path names the member, such as filters[].when.
func (t *Tool) Err() error { return t.err }

// ID returns the tool's capability id.
func (t *Tool) ID() string { return t.descriptor.CapabilityID }

// Descriptor returns what the tool's manifest entry says. The caller must not change
// what its slices and maps refer to.
func (t *Tool) Descriptor() spoke.ToolDescriptor { return t.descriptor }

// Metadata returns a copy of the tool's metadata, defaults filled in.
func (t *Tool) Metadata() Metadata { return t.meta.clone() }

// Availability asks the tool's probe, whose context ends with Metadata.Timeout, and says
// unavailable when it panics.
func (t *Tool) Availability(ctx context.Context) Availability {
	if t.meta.Probe != nil && t.meta.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.meta.Timeout)
		defer cancel()
	}
	return t.meta.Probe.ask(ctx)
}

// admit takes one of the tool's places, false when all are taken.
func (t *Tool) admit() bool {
	if n := t.running.Add(1); t.meta.Concurrency > 0 && n > int64(t.meta.Concurrency) {
		t.running.Add(-1)
		return false
	}
	return true
}
