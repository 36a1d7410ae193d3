package conformance

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// dispatchCase is the capability that an op requires; none for an op outside the core.
type dispatchCase struct {
	Op       string  `json:"op"`
	Required *string `json:"required"`
}

// checkDispatch asks for the capability and plays the gate of a core op.
func checkDispatch(ctx context.Context, c dispatchCase) error {
	want := "none"
	if c.Required != nil {
		want = *c.Required
	}
	got, ok := connect.CoreCapability(c.Op)
	if !ok {
		got = "none"
	}
	if err := same("capability", want, got); err != nil || c.Required == nil || got == c.Op {
		return err
	}
	return eachRole(func(under role) error { return c.gate(ctx, under) })
}

// gate invokes the op over a session that negotiated the capability and over one that
// did not.
func (c dispatchCase) gate(ctx context.Context, under role) error {
	op := connect.Op{Name: c.Op, Handle: func(context.Context, json.RawMessage) (any, error) { return "served", nil }}
	for capability, want := range map[string]string{*c.Required: "success", "something-else": "op_unsupported"} {
		cfg := benchConfig{mine: []string{capability}, theirs: []string{capability}, ops: []connect.Op{op}}
		if err := answerOf(ctx, under, cfg, c.Op, want); err != nil {
			return err
		}
	}
	return nil
}

// answerOf invokes op over a fresh session and judges the answer.
func answerOf(ctx context.Context, under role, cfg benchConfig, op, want string) error {
	b, err := openBench(ctx, under, cfg)
	if err != nil {
		return err
	}
	defer b.close()
	answer, err := b.peer.Call(ctx, op, wire.Object{})
	if err != nil {
		return err
	}
	return same("answer", want, answer.Outcome())
}

// portCase is one op of the port table.
type portCase struct {
	Op       string `json:"op"`
	Requires string `json:"requires"`
}

// checkPort asks for the capability of a port, holds that it is no core op, and that a
// peer that serves no ports denies it though its capability was negotiated.
func checkPort(ctx context.Context, c portCase) error {
	required, _ := connect.PortCapability(c.Op)
	if err := same("capability", c.Requires, required); err != nil {
		return err
	}
	if capability, ok := connect.CoreCapability(c.Op); ok {
		return &mismatch{"no core op", "one that requires " + capability}
	}
	both := []string{c.Requires}
	return eachRole(func(under role) error {
		return answerOf(ctx, under, benchConfig{mine: both, theirs: both}, c.Op, "op_unsupported")
	})
}
