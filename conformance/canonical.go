package conformance

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// canonicalCase is a document and its canonical form, or its refusal.
type canonicalCase struct {
	Input hexBytes `json:"input_hex"`
	JCS   hexBytes `json:"jcs_hex"`
	Error bool     `json:"error"`
}

// checkCanonical also holds canonical text to be its own canonical form.
func checkCanonical(_ context.Context, c canonicalCase) error {
	if c.Error {
		return refusedText(json.RawMessage(c.Input))
	}
	if err := canonicalText(string(c.Input), string(c.JCS)); err != nil {
		return err
	}
	return canonicalText(string(c.JCS), string(c.JCS))
}

func refusedText(input json.RawMessage) error {
	got, err := connect.Canonicalize(input)
	if err != nil {
		return nil
	}
	return &mismatch{"a refusal of " + strconv.Quote(string(input)), "canonical " + strconv.Quote(string(got))}
}

func canonicalText(input, want string) error {
	got, err := connect.Canonicalize(json.RawMessage(input))
	if err != nil {
		return &mismatch{"canonical " + strconv.Quote(want), err.Error()}
	}
	return sameText("canonical", want, string(got))
}

type doubleCase struct {
	Bits hexBytes `json:"bits_hex"`
	Text string   `json:"text"`
}

// checkDouble spells the double with more digits than it needs and expects its text.
func checkDouble(_ context.Context, c doubleCase) error {
	f := math.Float64frombits(binary.BigEndian.Uint64(c.Bits))
	const enough = 20
	if err := canonicalText(strconv.FormatFloat(f, 'e', enough, 64), c.Text); err != nil {
		return err
	}
	return canonicalText(c.Text, c.Text)
}

type numberCase struct {
	Input string `json:"input"`
	Text  string `json:"text"`
	Exact bool   `json:"exact"`
	Error bool   `json:"error"`
}

// checkNumber judges a number as a document and as part of a payload that leaves.
func checkNumber(ctx context.Context, c numberCase) error {
	if c.Error {
		return refusedText(json.RawMessage(c.Input))
	}
	if err := canonicalText(c.Input, c.Text); err != nil {
		return err
	}
	b, err := openBench(ctx, dialerRole, benchConfig{})
	if err != nil {
		return err
	}
	defer b.close()
	return b.sendNumber(ctx, c)
}

// sendNumber lets the session send the number: it leaves as its text, or not at all.
func (b *bench) sendNumber(ctx context.Context, c numberCase) error {
	settled := b.invoke(ctx, func() (json.RawMessage, error) {
		return b.session.Invoke(ctx, echoTool, json.RawMessage(`{"n":`+c.Input+`}`))
	})
	if !c.Exact {
		_, err := settled()
		return same("reject", spoke.CodeInvalidInput, spoke.CodeOf(err))
	}
	request, err := b.peer.AwaitRequest(ctx)
	if err != nil {
		return err
	}
	if err := b.peer.Respond(ctx, request, "payload", wire.Object{}); err != nil {
		return err
	}
	if _, err := settled(); err != nil {
		return err
	}
	return sameText("payload", `{"n":`+c.Text+`}`, string(request.Members["payload"]))
}
