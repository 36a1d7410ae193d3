package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
	"github.com/spoke-peer/spoke-go/tools/remotetool"
)

func newTools(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "tools [URL]",
		Short: "List a peer's tools",
		Long: `tools lists what a peer's manifest offers. The policy is read, write or critical, and is
known of a peer that serves the Remote Tool Protocol in the session, for which it is asked;
"-" where nobody says. "idempotent" marks a tool that may be called again for the same. A
star marks arguments that are required.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.beginAlone(cmd, args); err != nil {
				return err
			}
			return l.with(cmd.Context(), func(a *connect.RemoteAdapter) error {
				return l.list(cmd.Context(), a)
			}, remotetool.Capability)
		},
	}
}

func (l *link) list(ctx context.Context, a *connect.RemoteAdapter) error {
	policies := l.policies(ctx, a)
	var rows [][]string
	for _, d := range a.RemoteTools() {
		policy := policies[d.CapabilityID]
		if l.json {
			if err := l.line(withPolicy(d, policy)); err != nil {
				return err
			}
		}
		rows = append(rows, []string{d.CapabilityID, termtext.Line(d.Description), policyOf(d, policy), argumentsOf(d)})
	}
	if l.json {
		return nil
	}
	return l.table([]string{"ID", "DESCRIPTION", "POLICY", "ARGUMENTS"}, rows)
}

// policies asks a peer that has a catalog for the policies of its tools, by their ids in
// the manifest.
func (l *link) policies(ctx context.Context, a *connect.RemoteAdapter) map[string]tools.Policy {
	if !slices.Contains(a.NegotiatedCapabilities(), remotetool.Capability) {
		return nil
	}
	done := slow(l.err, "waiting for the catalog")
	catalog, err := remotetool.NewClient(remotetool.OverSession(a.Session, 0), remotetool.ClientConfig{Timeout: l.timeout}).Tools(ctx)
	done()
	if err != nil {
		fmt.Fprintf(l.err, "the policies are not known: %s\n", termtext.Line(err.Error()))
	}
	policies := make(map[string]tools.Policy)
	for _, t := range catalog {
		policies["tools."+t.ID] = t.Policy
	}
	return policies
}

// withPolicy is a descriptor that tells its policy, if that is known.
func withPolicy(d spoke.ToolDescriptor, policy tools.Policy) spoke.ToolDescriptor {
	if policy == "" {
		return d
	}
	d.Unknown = maps.Clone(d.Unknown)
	if d.Unknown == nil {
		d.Unknown = make(map[string]json.RawMessage)
	}
	d.Unknown["policy"], _ = json.Marshal(policy) // a text always can
	return d
}

// policyOf is what is known about what the tool may do.
func policyOf(d spoke.ToolDescriptor, policy tools.Policy) string {
	var known []string
	if policy != "" {
		known = append(known, string(policy))
	}
	if d.Idempotent != nil && *d.Idempotent {
		known = append(known, "idempotent")
	}
	if len(known) == 0 {
		return "-"
	}
	return termtext.Line(strings.Join(known, ", "))
}

// argumentsOf names the arguments with their types.
func argumentsOf(d spoke.ToolDescriptor) string {
	var input struct{ Properties, Required json.RawMessage }
	var members map[string]json.RawMessage
	var required []string
	// Each for itself, so that one of an unexpected shape does not hide the others.
	_ = json.Unmarshal(d.Input, &input)
	_ = json.Unmarshal(input.Properties, &members)
	_ = json.Unmarshal(input.Required, &required)
	if len(members) == 0 {
		return "-"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text := name
		if slices.Contains(required, name) {
			text += "*"
		}
		list = append(list, termtext.Line(text+typeOf(members[name])))
	}
	return strings.Join(list, ", ")
}

// typeOf is the type in a member's schema behind a space, "" when the schema has none or
// is no object.
func typeOf(schema json.RawMessage) string {
	var member struct{ Type any }
	if json.Unmarshal(schema, &member) != nil || member.Type == nil {
		return ""
	}
	return " " + strings.ReplaceAll(strings.Trim(fmt.Sprint(member.Type), "[]"), " ", "|")
}
