package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/jsonpos"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

func newManifest() *cobra.Command {
	return family("manifest", "Write, check and show manifests", newManifestInit(), newManifestCheck(), alone(newManifestShow))
}

func newManifestInit() *cobra.Command {
	hostID, ids := "my-peer", []string(nil)
	var o output
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a manifest to begin with; FILE must not exist, without one it goes to stdout",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := firstManifest(hostID, ids)
			if err != nil {
				return err
			}
			text, err := json.Marshal(m)
			if err != nil {
				return err
			}
			if !o.json {
				text = indented(text)
			}
			return writeNew(cmd, args, append(text, '\n'))
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().StringVar(&hostID, "host-id", hostID, "what the peer calls itself")
	cmd.Flags().StringSliceVar(&ids, "tool", nil, "id of a tool to describe, tools.NAMESPACE.TOOL; may be given again")
	return cmd
}

// firstManifest returns a manifest without problems that describes the tools.
func firstManifest(hostID string, ids []string) (spoke.HostCapabilityManifest, error) {
	m := baseManifest(hostID)
	if !utf8.ValidString(hostID) {
		return m, usagef("--host-id: %q is not UTF-8", hostID)
	}
	if len(ids) == 0 {
		m.Namespaces = []string{"my_peer"} // a peer owns at least one
	}
	for _, id := range ids {
		namespace, _, err := manifest.ParseToolID(id)
		if err != nil {
			return m, usagef("--tool: %w", err)
		}
		m.Tools = append(m.Tools, descriptorOf(id, "Say here what the tool does."))
		m.Capabilities = added(m.Capabilities, id)
		m.Namespaces = added(m.Namespaces, namespace)
	}
	if text, err := json.Marshal(m); err != nil {
		return m, err
	} else if err := manifest.Err(manifest.Validate(text)); err != nil {
		return m, usagef("%w", err)
	}
	return m, nil
}

// baseManifest describes a peer that offers no tools.
func baseManifest(hostID string, namespaces ...string) spoke.HostCapabilityManifest {
	return spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion, HostID: hostID, Roles: []string{"input-source"},
		Capabilities: []string{connect.CapabilityBaseline}, Namespaces: namespaces,
	}
}

// descriptorOf describes a tool that takes and gives any object.
func descriptorOf(id, description string) spoke.ToolDescriptor {
	return spoke.ToolDescriptor{
		SchemaVersion: spoke.SchemaVersion, CapabilityID: id, Op: id, Description: description,
		Input: json.RawMessage(`{"type":"object"}`),
	}
}

// added returns list with the items that it lacks.
func added(list []string, items ...string) []string {
	list = slices.Clip(list)
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

func writeNew(cmd *cobra.Command, args []string, text []byte) error {
	if len(args) == 0 {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func newManifestCheck() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Hold a manifest to its schema and its rules; \"-\" reads stdin",
		Long: `check prints every problem of a manifest with its line and column: those of the schema
and those of the rules between members. The exit status is 1 if there are any.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.of(cmd)
			text, err := readInput(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			return o.problems(args[0], text)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// finding is a problem and where it stands.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

func (o *output) problems(name string, text []byte) error {
	list := findings(name, text)
	for _, f := range list {
		if err := o.finding(f); err != nil {
			return err
		}
	}
	switch {
	case len(list) == 0:
		fmt.Fprintf(o.err, "%s: no problem\n", name)
		return nil
	case len(list) >= manifest.MaxProblems:
		fmt.Fprintf(o.err, "%s: these are the first %d problems; there may be more\n", name, len(list))
	}
	return errReported
}

func (o *output) finding(f finding) error {
	if o.json {
		return o.line(f)
	}
	path := f.Path
	if path != "" {
		path += ": "
	}
	_, err := fmt.Fprintf(o.out, "%s:%d:%d: %s\n", f.File, f.Line, f.Column, termtext.Line(path+f.Message))
	return err
}

// findings judges the text of a manifest.
func findings(name string, text []byte) []finding {
	index, err := jsonpos.New(text)
	if err != nil {
		at := index.End()
		return []finding{{name, at.Line, at.Column, "", err.Error()}}
	}
	var list []finding
	for _, p := range manifest.Validate(text) {
		at := index.Find(place(p))
		list = append(list, finding{name, at.Line, at.Column, p.Path, p.Message})
	}
	slices.SortStableFunc(list, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return list
}

var unknownMember = regexp.MustCompile(`^Additional property (.+) is not allowed$`)

// place is where to look for a problem: for a member that must not be there, the member.
func place(p manifest.Problem) string {
	if m := unknownMember.FindStringSubmatch(p.Message); m != nil {
		return p.Path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m[1])
	}
	return p.Path
}
