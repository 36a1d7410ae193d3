package story

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// AppConfig says where an [App] dials and what it is like.
type AppConfig struct {
	// URL is the host's WebSocket address.
	URL string
	// WithoutTools leaves the tools out of the manifest and serves none.
	WithoutTools bool
}

// App is a session with a host.
type App struct {
	*connect.RemoteAdapter
	offered []spoke.ToolDescriptor
	base    *int64 // the compass's revision, once it is known
}

// DialApp dials the demo host.
func DialApp(ctx context.Context, cfg AppConfig) (*App, error) {
	id, err := AppIdentity()
	if err != nil {
		return nil, err
	}
	host, err := HostIdentity()
	if err != nil {
		return nil, err
	}
	transport, err := ws.Dial(ctx, cfg.URL, nil)
	if err != nil {
		return nil, err
	}
	local := connect.Config{Identity: id, Manifest: appManifest(cfg.WithoutTools), Allow: []connect.PeerID{host.PeerID()}}
	if !cfg.WithoutTools {
		local.Tools = toyworld.Tools()
	}
	adapter, err := connect.Dial(ctx, transport, connect.DialConfig{Config: local, Remote: host.PeerID()})
	if err != nil {
		return nil, err
	}
	return &App{RemoteAdapter: adapter, offered: local.Manifest.Tools}, nil
}

func appManifest(withoutTools bool) spoke.HostCapabilityManifest {
	m := toyworld.AppManifest()
	if withoutTools {
		m.Tools, m.Capabilities = nil, []string{connect.CapabilityBaseline}
	}
	return toyworld.WithEveryPort(m)
}

// Tell goes through the story and writes each step with what came of it. A step that the
// host denies is written as such; any other failure ends the story.
func (a *App) Tell(ctx context.Context, out io.Writer) error {
	host := a.GetHostCapabilityManifest()
	fmt.Fprintf(out, "host          %s (%s)\n", a.RemotePeerID(), host.HostID)
	fmt.Fprintf(out, "  can         %s\n", strings.Join(host.Capabilities, ", "))
	fmt.Fprintf(out, "  namespaces  %s\n", strings.Join(host.Namespaces, ", "))
	fmt.Fprintf(out, "tools offered [%s]\n", strings.Join(ids(a.offered, toolID), ", "))
	for i, step := range []struct {
		what string
		do   func(ctx context.Context) (string, error)
	}{
		{"put the compass", a.create},
		{"put it again, on that revision", a.confirm},
		{"get it", a.get},
		{"list the harbor", a.list},
		{"put a finding", a.findings},
		{"list the host's peers", a.peers},
		{"project the harbor", a.project},
		{"compute and settle", a.compute},
		{"list the storm's events", a.fork},
	} {
		outcome, err := step.do(ctx)
		if spoke.CodeOf(err) == spoke.CodeCapabilityPortMissing {
			outcome, err = fmt.Sprintf("denied: %v", err), nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Fprintf(out, "%d. %-31s %s\n", i+1, step.what, outcome)
	}
	_, err := fmt.Fprintln(out, "done")
	return err
}

func compass(status string) spoke.KnowledgeEntry {
	return spoke.KnowledgeEntry{
		SchemaVersion: spoke.SchemaVersion,
		EntryID:       CompassID,
		EntryType:     "item",
		CanonicalName: "Compass",
		Status:        status,
		Body:          spoke.KnowledgeBody{Summary: new("Brass, and a little off to the east.")},
	}
}

// create puts the compass where there must be none. The host of an earlier story may
// remember it.
func (a *App) create(ctx context.Context) (string, error) {
	stored, err := a.PutKnowledgeEntry(ctx, compass("provisional"), nil)
	if spoke.CodeOf(err) == spoke.CodeRevisionConflict {
		stored, err = a.GetKnowledgeEntry(ctx, CompassID)
		a.base = stored.Revision
		return fmt.Sprintf("%s is there already, at revision %s", stored.EntryID, revision(stored)), err
	}
	a.base = stored.Revision
	return fmt.Sprintf("%s, revision %s", stored.EntryID, revision(stored)), err
}

func (a *App) confirm(ctx context.Context) (string, error) {
	stored, err := a.PutKnowledgeEntry(ctx, compass("confirmed"), a.base)
	return fmt.Sprintf("%s, revision %s", stored.EntryID, revision(stored)), err
}

func revision(entry spoke.KnowledgeEntry) string {
	if entry.Revision == nil {
		return "unknown"
	}
	return fmt.Sprint(*entry.Revision)
}

func (a *App) get(ctx context.Context) (string, error) {
	entry, err := a.GetKnowledgeEntry(ctx, CompassID)
	return fmt.Sprintf("%s, status %s", entry.EntryID, entry.Status), err
}

func (a *App) list(ctx context.Context) (string, error) {
	entries, err := a.ListKnowledgeEntries(ctx, spoke.Scope{ScopeID: toyworld.HarborNamespace})
	return counted("entries", entries, func(e spoke.KnowledgeEntry) string { return e.EntryID }), err
}

func (a *App) findings(ctx context.Context) (string, error) {
	stored, err := a.PutFindings(ctx, []spoke.Finding{{
		SchemaVersion: spoke.SchemaVersion,
		FindingID:     FindingID,
		Severity:      "info",
		Status:        "open",
		Title:         "Compass without a case",
		Description:   "Nothing keeps the salt off it.",
		TargetEntryID: new(CompassID),
	}})
	return counted("stored", stored, func(f spoke.Finding) string { return f.FindingID }), err
}

func (a *App) peers(ctx context.Context) (string, error) {
	peers, err := a.ListPeerHostCapabilityManifests(ctx)
	return counted("peers", peers, func(m spoke.HostCapabilityManifest) string { return m.HostID }), err
}

// computation names the demo's computation.
const computation = "demo-session/harbor-1"

func (a *App) project(ctx context.Context) (string, error) {
	view, err := a.Project(ctx, spoke.ProjectRequest{
		SessionID: computation,
		EntryID:   toyworld.HarborID,
		State:     spoke.Fields{"ships_at_dock": json.RawMessage("3")},
	})
	return fmt.Sprintf("%s: %s", view.EntryID, shown(view.Computable)), err
}

func (a *App) compute(ctx context.Context) (string, error) {
	view, err := a.Compute(ctx, spoke.ComputeRequest{
		SessionID:  computation,
		EntryID:    toyworld.HarborID,
		Computable: spoke.Fields{"tide": json.RawMessage(`"rising"`)},
		Settle:     new(true),
	})
	return fmt.Sprintf("%s: %s, state %s", view.EntryID, shown(view.Computable), shown(view.State)), err
}

func (a *App) fork(ctx context.Context) (string, error) {
	events, err := a.ListForkTimelineEvents(ctx, spoke.Scope{ScopeID: toyworld.HarborNamespace, ForkID: new(toyworld.StormForkID)})
	return counted("events", events, func(e spoke.TimelineEvent) string { return e.TimelineEventID }), err
}

// counted writes "3 events: a, b, c".
func counted[T any](what string, values []T, id func(T) string) string {
	return strings.TrimSuffix(fmt.Sprintf("%d %s: %s", len(values), what, strings.Join(ids(values, id), ", ")), ": ")
}

func ids[T any](values []T, id func(T) string) []string {
	var all []string
	for _, value := range values {
		all = append(all, id(value))
	}
	return all
}

func toolID(d spoke.ToolDescriptor) string { return d.CapabilityID }

// shown writes fields as JSON.
func shown(fields spoke.Fields) string {
	text, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
