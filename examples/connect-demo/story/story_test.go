package story

import (
	"bytes"
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/sqlitestore"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startHost runs a host on an ephemeral loopback port.
func startHost(t *testing.T, cfg HostConfig) (*Host, string) {
	t.Helper()
	host, err := NewHost(cfg)
	require.NoError(t, err)
	server := httptest.NewServer(host)
	t.Cleanup(func() {
		host.Close()
		server.Close()
	})
	return host, "ws" + strings.TrimPrefix(server.URL, "http")
}

// tell tells the story and returns what the app printed.
func tell(t *testing.T, cfg AppConfig) string {
	t.Helper()
	app, err := DialApp(t.Context(), cfg)
	require.NoError(t, err)
	defer app.Wait()
	defer app.Close()
	var out bytes.Buffer
	require.NoError(t, app.Tell(t.Context(), &out))
	return out.String()
}

const (
	hostPeer = "12D3KooWNm5t4HypYRmiC5v9CD2TnPKrJh2J8TcfJ2gPhA7L8TiZ"
	appPeer  = "12D3KooWM82bDYYgzgXaayHDdVciFe3bGvJ69qHnbSztNUJ933VQ"
)

const fullStory = `host          ` + hostPeer + ` (demo-inference-host)
  can         spoke-baseline, tools.toy_world.roll_dice, tools.toy_world.lore_lookup, l2-computable, l5-fork
  namespaces  demo-harbor, toy_world
tools offered [tools.toy_world.roll_dice, tools.toy_world.lore_lookup]
1. put the compass                 demo-harbor/item/compass, revision 1
2. put it again, on that revision  demo-harbor/item/compass, revision 2
3. get it                          demo-harbor/item/compass, status confirmed
4. list the harbor                 5 entries: demo-harbor/character/mira, demo-harbor/location/harbor, derived/world-digest, demo-harbor/item/compass, demo-harbor/artifact/dice-roll
5. put a finding                   1 stored: demo-harbor/finding/compass-uncased
6. list the host's peers           0 peers
7. project the harbor              demo-harbor/location/harbor: {"ships_at_dock":3}
8. compute and settle              demo-harbor/location/harbor: {"ships_at_dock":3,"tide":"rising"}, state {"ships_at_dock":3,"tide":"rising"}
9. list the storm's events         3 events: demo-harbor/event/storm-landfall, demo-harbor/event/harbor-evacuation, demo-harbor/event/compass-secured
done
`

func worldInFile(t *testing.T) *toyworld.World {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "world.db"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	world, err := toyworld.OpenWorld(t.Context(), store, toyworld.HarborCorpus())
	require.NoError(t, err)
	return world
}

func TestTheWholeStory(t *testing.T) {
	for name, world := range map[string]func(t *testing.T) *toyworld.World{
		"a world in memory": func(*testing.T) *toyworld.World { return nil },
		"a world in a file": worldInFile,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			host, url := startHost(t, HostConfig{World: world(t), Out: &log})
			assert.Equal(t, fullStory, tell(t, AppConfig{URL: url}))
			require.Len(t, host.Rolls(), 1)
			assert.Equal(t, Roll{
				Offered: []string{toyworld.RollDiceID, toyworld.LoreLookupID},
				Result:  toyworld.RollResult{Rolls: []int64{1, 2}, Total: 3},
				Stored:  DiceRollID,
			}, host.Rolls()[0])
			host.Close()
			assert.Contains(t, log.String(), appPeer+" connected\n")
			assert.Contains(t, log.String(), "[1 2], 3 in all; stored as demo-harbor/artifact/dice-roll")
		})
	}
}

func TestTheRollIsInTheWorldWhenThePutReturns(t *testing.T) {
	_, url := startHost(t, HostConfig{})
	app, err := DialApp(t.Context(), AppConfig{URL: url})
	require.NoError(t, err)
	defer app.Wait()
	defer app.Close()
	_, err = app.PutKnowledgeEntry(t.Context(), compass("provisional"), nil)
	require.NoError(t, err)
	roll, err := app.GetKnowledgeEntry(t.Context(), DiceRollID)
	require.NoError(t, err)
	assert.Equal(t, "[1,2]", string(roll.Body.Computable["rolls"]))
	assert.Equal(t, "3", string(roll.Body.Computable["total"]))
	digest, err := app.GetKnowledgeEntry(t.Context(), toyworld.WorldDigestID)
	require.NoError(t, err)
	assert.EqualValues(t, 3, *digest.Revision)
}

func TestEveryAppOfAHostWithoutAFileGetsANewWorld(t *testing.T) {
	host, url := startHost(t, HostConfig{})
	assert.Equal(t, fullStory, tell(t, AppConfig{URL: url}))
	assert.Equal(t, fullStory, tell(t, AppConfig{URL: url}))
	assert.Len(t, host.Rolls(), 2)
}

func TestAHostWithAFileRemembersTheCompass(t *testing.T) {
	host, url := startHost(t, HostConfig{World: worldInFile(t)})
	assert.Equal(t, fullStory, tell(t, AppConfig{URL: url}))
	again := tell(t, AppConfig{URL: url})
	assert.Contains(t, again, "demo-harbor/item/compass is there already, at revision 2\n")
	assert.Contains(t, again, "demo-harbor/item/compass, revision 3\n")
	assert.Contains(t, again, "5 entries")
	assert.Len(t, host.Rolls(), 1, "nothing was created, so nobody rolled")
}

func TestAHostWithoutTheOptionalCapabilitiesDeniesThem(t *testing.T) {
	host, url := startHost(t, HostConfig{BaselineOnly: true})
	out := tell(t, AppConfig{URL: url})
	for _, op := range []string{"port.computable.project", "port.computable.compute", "port.fork.list_timeline_events"} {
		assert.Contains(t, out, "denied: CAPABILITY_PORT_MISSING: this session does not serve "+op+"\n")
	}
	assert.Equal(t, 3, strings.Count(out, "denied"))
	assert.Contains(t, out, "5 entries")
	assert.NoError(t, host.Rolls()[0].Err)

	app, err := DialApp(t.Context(), AppConfig{URL: url})
	require.NoError(t, err)
	defer app.Wait()
	defer app.Close()
	_, err = app.ListForkTimelineEvents(t.Context(), spoke.Scope{ScopeID: "demo-harbor", ForkID: new(toyworld.StormForkID)})
	requireDeny(t, err)
}

func requireDeny(t *testing.T, err error) {
	t.Helper()
	var reject *spoke.Reject
	require.ErrorAs(t, err, &reject)
	assert.Equal(t, spoke.CodeCapabilityPortMissing, reject.Code)
	assert.Equal(t, spoke.WireOpUnsupported, reject.WireCode())
	assert.True(t, reject.Remote())
}

func TestAnAppWithoutToolsMakesTheHostRecordTheDenyAndFeedNothing(t *testing.T) {
	var log bytes.Buffer
	host, url := startHost(t, HostConfig{Out: &log})
	out := tell(t, AppConfig{URL: url, WithoutTools: true})
	assert.Contains(t, out, "tools offered []\n")
	assert.Contains(t, out, "revision 1\n", "the put itself succeeds")
	assert.Contains(t, out, "4 entries: demo-harbor/character/mira, demo-harbor/location/harbor, derived/world-digest, demo-harbor/item/compass\n")
	require.Len(t, host.Rolls(), 1)
	roll := host.Rolls()[0]
	requireDeny(t, roll.Err)
	assert.Empty(t, roll.Offered)
	assert.Empty(t, roll.Stored)
	assert.Zero(t, roll.Result)
	host.Close()
	assert.Contains(t, log.String(), "stored none: CAPABILITY_PORT_MISSING")
}

// An app whose manifest lists the tools without serving them is denied on its own side.
func TestAnAppThatServesNoneOfItsToolsIsRecordedToo(t *testing.T) {
	host, url := startHost(t, HostConfig{})
	app := dialAs(t, url, appManifest(false))
	_, err := app.PutKnowledgeEntry(t.Context(), compass("provisional"), nil)
	require.NoError(t, err)
	requireDeny(t, host.Rolls()[0].Err)
	_, err = app.GetKnowledgeEntry(t.Context(), DiceRollID)
	assert.Equal(t, spoke.CodeKnowledgeEntryNotFound, spoke.CodeOf(err))
}

// dialAs dials with a manifest and without any handler.
func dialAs(t *testing.T, url string, m spoke.HostCapabilityManifest) *connect.RemoteAdapter {
	t.Helper()
	id, err := AppIdentity()
	require.NoError(t, err)
	transport, err := ws.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	adapter, err := connect.Dial(t.Context(), transport, connect.DialConfig{
		Config: connect.Config{Identity: id, Manifest: m, Allow: []connect.PeerID{hostPeer}},
		Remote: hostPeer,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		adapter.Close()
		adapter.Wait()
	})
	return adapter
}

// drives are the ports as an app drives them.
var drives = map[string]func(ctx context.Context, p connect.Ports) error{
	"port.knowledge.get": func(ctx context.Context, p connect.Ports) error {
		_, err := p.GetKnowledgeEntry(ctx, toyworld.MiraID)
		return err
	},
	"port.knowledge.put": func(ctx context.Context, p connect.Ports) error {
		_, err := p.PutKnowledgeEntry(ctx, compass("confirmed"), nil)
		return err
	},
	"port.relation.get": func(ctx context.Context, p connect.Ports) error {
		_, err := p.GetRelation(ctx, toyworld.MiraLocatedID)
		return err
	},
	"port.relation.put": func(ctx context.Context, p connect.Ports) error {
		_, err := p.PutRelation(ctx, spoke.Relation{SchemaVersion: 1, RelationID: "r", RelationType: "near", FromID: "a", ToID: "b"}, nil)
		return err
	},
	"port.scope.list_knowledge_entries": func(ctx context.Context, p connect.Ports) error {
		_, err := p.ListKnowledgeEntries(ctx, spoke.Scope{ScopeID: "demo-harbor"})
		return err
	},
	"port.scope.list_timeline_events": func(ctx context.Context, p connect.Ports) error {
		_, err := p.ListTimelineEvents(ctx, spoke.Scope{ScopeID: "demo-harbor"})
		return err
	},
	"port.finding.put": func(ctx context.Context, p connect.Ports) error {
		_, err := p.PutFindings(ctx, nil)
		return err
	},
	"port.rule.list": func(ctx context.Context, p connect.Ports) error {
		_, err := p.ListRules(ctx, []string{toyworld.NightWorkRuleID})
		return err
	},
	"port.host.list_peer_manifests": func(ctx context.Context, p connect.Ports) error {
		_, err := p.ListPeerHostCapabilityManifests(ctx)
		return err
	},
	"port.computable.project": func(ctx context.Context, p connect.Ports) error {
		_, err := p.Project(ctx, spoke.ProjectRequest{SessionID: "s", EntryID: toyworld.HarborID})
		return err
	},
	"port.computable.compute": func(ctx context.Context, p connect.Ports) error {
		_, err := p.Compute(ctx, spoke.ComputeRequest{SessionID: "s", EntryID: toyworld.HarborID})
		return err
	},
	"port.fork.list_timeline_events": func(ctx context.Context, p connect.Ports) error {
		_, err := p.ListForkTimelineEvents(ctx, spoke.Scope{ScopeID: "demo-harbor", ForkID: new(toyworld.StormForkID)})
		return err
	},
}

func TestAnAppIsDeniedEveryPortWhoseCapabilityItDoesNotList(t *testing.T) {
	_, url := startHost(t, HostConfig{})
	require.Len(t, drives, 12)
	for _, missing := range []string{"none", connect.CapabilityBaseline, connect.CapabilityComputable, connect.CapabilityFork} {
		m := appManifest(false)
		var rest []string
		for _, capability := range m.Capabilities {
			if capability != missing {
				rest = append(rest, capability)
			}
		}
		m.Capabilities = rest
		app := dialAs(t, url, m)
		for op, drive := range drives {
			err := drive(t.Context(), app.Ports)
			if capability, _ := connect.PortCapability(op); capability == missing {
				requireDeny(t, err)
			} else {
				assert.NoError(t, err, "%s without %s", op, missing)
			}
		}
	}
}

func TestAStrangerIsRefused(t *testing.T) {
	_, url := startHost(t, HostConfig{})
	id, err := connect.GenerateIdentity()
	require.NoError(t, err)
	transport, err := ws.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	_, err = connect.Dial(t.Context(), transport, connect.DialConfig{
		Config: connect.Config{Identity: id, Manifest: appManifest(false), Allow: []connect.PeerID{hostPeer}},
		Remote: hostPeer,
	})
	var refused *connect.HandshakeError
	assert.ErrorAs(t, err, &refused)
}

func TestAFailureThatIsNoDenyEndsTheStory(t *testing.T) {
	_, url := startHost(t, HostConfig{})
	app, err := DialApp(t.Context(), AppConfig{URL: url})
	require.NoError(t, err)
	app.Close()
	require.NoError(t, app.Wait())
	var out bytes.Buffer
	err = app.Tell(t.Context(), &out)
	assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(err))
	assert.ErrorContains(t, err, "put the compass")
	assert.NotContains(t, out.String(), "done")
}

func TestAClosedHostLetsNobodyIn(t *testing.T) {
	host, url := startHost(t, HostConfig{})
	host.Close()
	app, err := DialApp(t.Context(), AppConfig{URL: url})
	if err == nil { // it was established on the app's side before the host hung up
		err = app.Wait()
	}
	assert.Error(t, err)
}
