package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/termtext"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func newTools(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "tools [URL]",
		Short: "List a peer's tools",
		Long: `tools lists what a peer's manifest offers. A star marks arguments that are required. The
policy is what the tool says about itself where its peer says it; a SPOKE manifest has no
place for it, and "idempotent" is all that it tells. "-" is neither.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			return l.with(cmd.Context(), l.list)
		},
	}
}

func (l *link) list(a *connect.RemoteAdapter) error {
	list := a.RemoteTools()
	if l.json {
		for _, d := range list {
			if err := l.line(d); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]string
	for _, d := range list {
		rows = append(rows, []string{d.CapabilityID, termtext.Line(d.Description), policyOf(d), argumentsOf(d)})
	}
	return l.table([]string{"ID", "DESCRIPTION", "POLICY", "ARGUMENTS"}, rows)
}

// policyOf is what a descriptor tells about what the tool may do.
func policyOf(d spoke.ToolDescriptor) string {
	var policy string
	if json.Unmarshal(d.Unknown["policy"], &policy) == nil && policy != "" {
		return termtext.Line(policy)
	}
	if d.Idempotent != nil && *d.Idempotent {
		return "idempotent"
	}
	return "-"
}

// argumentsOf names the arguments with their types.
func argumentsOf(d spoke.ToolDescriptor) string {
	var input struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(d.Input, &input) != nil || len(input.Properties) == 0 {
		return "-"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		text := name
		if slices.Contains(input.Required, name) {
			text += "*"
		}
		if kind := input.Properties[name].Type; kind != nil {
			text += " " + strings.Trim(fmt.Sprint(kind), "[]")
		}
		list = append(list, termtext.Line(text))
	}
	return strings.Join(list, ", ")
}
