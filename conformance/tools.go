package conformance

import (
	"context"
	"encoding/json"

	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// outcome is what a caller sees: a value, or a reject with its details.
type outcome struct {
	OK      bool            `json:"ok"`
	Value   json.RawMessage `json:"value"`
	Code    spoke.Code      `json:"code"`
	Details map[string]any  `json:"details"`
}

// check holds an error to the outcome.
func (o outcome) check(err error) error {
	if o.OK {
		return unexpected("success", err)
	}
	if err == nil {
		return &mismatch{"reject " + string(o.Code), "success"}
	}
	if err := same("reject", o.Code, spoke.CodeOf(err)); err != nil {
		return err
	}
	return sameJSON("details", o.Details, detailsOf(err))
}

type toolIDCase struct {
	ID        string `json:"id"`
	OK        bool   `json:"ok"`
	Namespace string `json:"namespace"`
	Tool      string `json:"tool_id"`
}

func checkToolID(_ context.Context, c toolIDCase) error {
	namespace, tool, err := manifest.ParseToolID(c.ID)
	if !c.OK {
		return same("reject", spoke.CodeInvalidInput, spoke.CodeOf(err))
	}
	if err != nil {
		return &mismatch{c.Namespace + " and " + c.Tool, err.Error()}
	}
	return sameText("parts", c.Namespace+" "+c.Tool, namespace+" "+tool)
}

type manifestCase struct {
	Manifest json.RawMessage `json:"manifest"`
	Result   outcome         `json:"result"`
}

func checkManifestTools(_ context.Context, c manifestCase) error {
	return c.Result.check(manifest.ValidateTools(c.Manifest))
}

type argumentsCase struct {
	Input  json.RawMessage `json:"input"`
	Args   json.RawMessage `json:"args"`
	Result outcome         `json:"result"`
}

func checkToolArguments(_ context.Context, c argumentsCase) error {
	return c.Result.check(manifest.CheckArguments(c.Input, c.Args))
}

type diceCase struct {
	Args   json.RawMessage `json:"args"`
	Result outcome         `json:"result"`
}

func checkRollDice(_ context.Context, c diceCase) error {
	rolled, err := toyworld.Roll(c.Args)
	if err := c.Result.check(err); err != nil || !c.Result.OK {
		return err
	}
	return sameJSON("rolls", c.Result.Value, rolled)
}
