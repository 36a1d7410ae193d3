package connect_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestTheManifestsOfARouter(t *testing.T) {
	apps := []app{
		{id: routedApps[2], tools: spoke.ToolHandlers{slowTool: named("c"), otherTool: named("c")}},
		{id: routedApps[0], tools: spoke.ToolHandlers{slowTool: named("a"), echoTool: named("a")}, shape: func(m *spoke.HostCapabilityManifest) {
			m.Roles = []string{"checker", "input-source"}
			m.Authority = &spoke.Authority{ScopeKey: "k"}
			m.Namespaces = []string{"harbor", "test"}
			m.Tools[1].Description = "The first peer's."
		}},
	}
	routing(t, connect.RouterConfig{HostID: "tower"}, apps, func(t *testing.T, r *connect.Router, links []link) {
		composed := r.GetHostCapabilityManifest()
		text, err := json.Marshal(composed)
		require.NoError(t, err)
		assert.Empty(t, manifest.Validate(text), "it keeps the rules of a manifest")
		assert.Equal(t, "tower", composed.HostID)
		assert.Nil(t, composed.Authority)
		assert.Equal(t, []string{"checker", "input-source"}, composed.Roles, "in the order of the peer ids")
		assert.Equal(t, []string{"harbor", "test"}, composed.Namespaces)
		assert.Equal(t, []string{connect.CapabilityBaseline, "test.ops", echoTool, slowTool, otherTool}, composed.Capabilities)
		var ids []string
		for _, tool := range composed.Tools {
			ids = append(ids, tool.CapabilityID)
		}
		assert.Equal(t, []string{echoTool, otherTool, slowTool}, ids, "sorted, each once")
		assert.Equal(t, "The first peer's.", composed.Tools[2].Description)
		peers, err := json.Marshal(map[string]any{"peers": []connect.PeerID{routedApps[0].PeerID(), routedApps[2].PeerID()}})
		require.NoError(t, err)
		assert.JSONEq(t, string(peers), string(composed.Extensions["router"]))

		single, err := r.ListPeerHostCapabilityManifests(t.Context())
		require.NoError(t, err)
		require.Len(t, single, 2)
		assert.Equal(t, links[1].host.RemoteManifest(), single[0])
		assert.Equal(t, links[0].host.RemoteManifest(), single[1])
	})
}

func TestTheManifestsOfARouterWithoutPeers(t *testing.T) {
	r := connect.NewRouter(connect.RouterConfig{})
	text, err := json.Marshal(r.GetHostCapabilityManifest())
	require.NoError(t, err)
	assert.JSONEq(t, `{"schema_version":1,"host_id":"multi-peer-router","roles":[],"capabilities":[],"namespaces":[],"tools":[],"extensions":{"router":{"peers":[]}}}`, string(text))
	single, err := r.ListPeerHostCapabilityManifests(t.Context())
	require.NoError(t, err)
	assert.NotNil(t, single)
	assert.Empty(t, single)
}

func TestAToolThatBreaksTheManifestRuleIsNotComposed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		respond := responderConfig()
		s, p := func() (*connect.Session, *wirePeer) {
			dial := dialConfig()
			dial.Manifest.Tools[1].CapabilityID = "tools.test.unlisted"
			return newWirePeer(t, "host", dial, respond)
		}()
		defer s.Wait()
		defer s.Close()
		defer p.transport.Close()
		r := connect.NewRouter(connect.RouterConfig{})
		require.NoError(t, r.Register(s))
		for _, tool := range r.GetHostCapabilityManifest().Tools {
			assert.NotEqual(t, "tools.test.unlisted", tool.CapabilityID)
		}
	})
}
