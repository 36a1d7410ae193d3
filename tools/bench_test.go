package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

type rollArgs struct {
	Count int `json:"count" minimum:"1" maximum:"100"`
	Sides int `json:"sides" default:"6" minimum:"2"`
}

type rollResult struct {
	Rolls []int `json:"rolls"`
	Total int   `json:"total"`
}

func roll(_ context.Context, in rollArgs) (rollResult, error) {
	return rollResult{Rolls: make([]int, in.Count), Total: in.Count * in.Sides}, nil
}

const rollID = "tools.dice.roll"

var rollText = json.RawMessage(`{"count":2,"sides":8}`)

func loop(b *testing.B, f func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
}

// plain is what a call costs without a registry: decode, call, encode.
func plain(ctx context.Context) func() error {
	return func() error {
		var in rollArgs
		if err := json.Unmarshal(rollText, &in); err != nil {
			return err
		}
		out, err := roll(ctx, in)
		if err != nil {
			return err
		}
		_, err = json.Marshal(out)
		return err
	}
}

func BenchmarkPlainFunction(b *testing.B) { loop(b, plain(b.Context())) }

// The plain function is the floor.
func BenchmarkTypedCall(b *testing.B) {
	r := open(b, tools.New(rollID, "Roll dice.", roll))
	call := func() error { _, err := r.InvokeTool(b.Context(), rollID, rollText); return err }
	benchtest.Function(b, call, plain(b.Context()))
}

// The same with schemas that accept everything, which cost nothing to check.
func BenchmarkRawCallWithoutSchemas(b *testing.B) {
	d := spoke.ToolDescriptor{CapabilityID: rollID, Description: "Echo."}
	r := open(b, tools.Raw(d, func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }))
	loop(b, func() error { _, err := r.InvokeTool(b.Context(), rollID, rollText); return err })
}

func BenchmarkValidateArguments(b *testing.B) {
	schemas := compiled(b)
	loop(b, func() error { return schemas.ValidateArguments(rollText) })
}

func BenchmarkValidateResult(b *testing.B) {
	schemas, result := compiled(b), json.RawMessage(`{"rolls":[1,2],"total":3}`)
	loop(b, func() error { return schemas.ValidateResult(result) })
}

func compiled(b *testing.B) *manifest.ToolSchemas {
	b.Helper()
	schemas, err := manifest.CompileTool(tools.New(rollID, "Roll dice.", roll).Descriptor(), manifest.Own)
	require.NoError(b, err)
	return schemas
}

func BenchmarkCompileTool(b *testing.B) {
	d := tools.New(rollID, "Roll dice.", roll).Descriptor()
	loop(b, func() error { _, err := manifest.CompileTool(d, manifest.Own); return err })
}

func BenchmarkList10000Tools(b *testing.B) {
	list := make([]*tools.Tool, 10_000)
	for i := range list {
		d := spoke.ToolDescriptor{CapabilityID: fmt.Sprintf("tools.many.t%d", i), Description: "One of many."}
		list[i] = tools.Raw(d, noop).With(tools.Metadata{Policy: tools.PolicyRead})
	}
	r := open(b, list...)
	loop(b, func() error {
		if n := len(r.List(b.Context())); n != len(list) {
			return fmt.Errorf("%d tools", n)
		}
		return nil
	})
}
