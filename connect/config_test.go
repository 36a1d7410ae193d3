package connect_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestConfigErrors(t *testing.T) {
	handle := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	op := func(ops ...connect.Op) func(*connect.Config) {
		return func(cfg *connect.Config) { cfg.Ops = ops }
	}
	common := map[string]func(*connect.Config){
		"no identity":       func(cfg *connect.Config) { cfg.Identity = nil },
		"the zero identity": func(cfg *connect.Config) { cfg.Identity = new(connect.Identity) },
		"a manifest larger than a hello": func(cfg *connect.Config) {
			cfg.Manifest.Extensions = spoke.Extensions{"a": raw(`{"x":"%s"}`, strings.Repeat("x", 256<<10))}
		},
		"a negative handshake timeout":   func(cfg *connect.Config) { cfg.HandshakeTimeout = -1 },
		"a negative write timeout":       func(cfg *connect.Config) { cfg.WriteTimeout = -1 },
		"frames too small for a hello":   func(cfg *connect.Config) { cfg.Limits.HandshakeFrameBytes = 100 },
		"frames too small for an answer": func(cfg *connect.Config) { cfg.Limits.FrameBytes = 1 << 10 },
		"no nesting":                     func(cfg *connect.Config) { cfg.Limits.Depth = 1 },
		"nesting that nothing can read":  func(cfg *connect.Config) { cfg.Limits.Depth = 10001 },
		"negative handlers":              func(cfg *connect.Config) { cfg.Limits.Handlers = -1 },
		"negative handler bytes":         func(cfg *connect.Config) { cfg.Limits.HandlerBytes = -1 },
		"negative replies":               func(cfg *connect.Config) { cfg.Limits.PendingReplies = -1 },
		"negative reply bytes":           func(cfg *connect.Config) { cfg.Limits.PendingReplyBytes = -1 },
		"a bad id in Allow":              func(cfg *connect.Config) { cfg.Allow = append(cfg.Allow, "12D3KooWnobody") },
		"an empty id in Allow":           func(cfg *connect.Config) { cfg.Allow = append(cfg.Allow, "") },
		"an empty manifest":              func(cfg *connect.Config) { cfg.Manifest = spoke.HostCapabilityManifest{} },
		"no capabilities":                func(cfg *connect.Config) { cfg.Manifest.Capabilities = nil },
		"a tool not listed":              func(cfg *connect.Config) { cfg.Manifest.Capabilities = []string{connect.CapabilityBaseline} },
		"a foreign namespace":            func(cfg *connect.Config) { cfg.Manifest.Namespaces = []string{"elsewhere"} },
		"a repeated capability":          func(cfg *connect.Config) { cfg.Manifest.Capabilities = append(cfg.Manifest.Capabilities, echoTool) },
		"a manifest with a lie":          func(cfg *connect.Config) { cfg.Manifest.HostID = "\xff" },
		"an inexact number": func(cfg *connect.Config) {
			cfg.Manifest.Extensions = spoke.Extensions{"a": raw(`{"n":9007199254740993}`)}
		},
		"a manifest too deep": func(cfg *connect.Config) {
			cfg.Manifest.Extensions = spoke.Extensions{"a": raw(`{"n":%s1%s}`, strings.Repeat("[", 253), strings.Repeat("]", 253))}
		},
		"a tool with a long id": func(cfg *connect.Config) {
			long := "tools.test." + strings.Repeat("a", 246)
			tool := &cfg.Manifest.Tools[0]
			tool.CapabilityID, tool.Op = long, long
			cfg.Manifest.Capabilities = append(cfg.Manifest.Capabilities, long)
		},
		"a broken schema":        func(cfg *connect.Config) { cfg.Manifest.Tools[0].Input = raw(`{"type":"nothing"}`) },
		"a duplicate op":         op(connect.Op{Name: "a", Capability: "test.ops", Handle: handle}, connect.Op{Name: "a", Capability: "test.ops", Handle: handle}),
		"an op named as a tool":  op(connect.Op{Name: "tools.test.echo", Capability: "test.ops", Handle: handle}),
		"an op named as a port":  op(connect.Op{Name: "port.rule.list", Capability: "test.ops", Handle: handle}),
		"an op without a name":   op(connect.Op{Capability: "test.ops", Handle: handle}),
		"an op with a long name": op(connect.Op{Name: strings.Repeat("a", 257), Capability: "test.ops", Handle: handle}),
		"an op without a gate":   op(connect.Op{Name: "a", Handle: handle}),
		"an op without handler":  op(connect.Op{Name: "a", Capability: "test.ops"}),
		"a core op, other gate":  op(connect.Op{Name: "upsert", Capability: "test.ops", Handle: handle}),
	}

	dials := map[string]func(*connect.DialConfig){
		"a peer that is not in Allow": func(cfg *connect.DialConfig) { cfg.Allow = []connect.PeerID{strangerID.PeerID()} },
		"an empty Allow":              func(cfg *connect.DialConfig) { cfg.Allow = nil },
		"a key of another peer's": func(cfg *connect.DialConfig) {
			cfg.Allow, cfg.RemoteKey = append(cfg.Allow, strangerID.PeerID()), strangerID.PublicKey()
		},
		"neither id nor key":             func(cfg *connect.DialConfig) { cfg.Remote = "" },
		"an id that is none":             func(cfg *connect.DialConfig) { cfg.Remote = "host" },
		"a key of a wrong size":          func(cfg *connect.DialConfig) { cfg.RemoteKey = hostID.PublicKey()[:31] },
		"an empty key":                   func(cfg *connect.DialConfig) { cfg.RemoteKey = ed25519.PublicKey{} },
		"a key whose peer is not listed": func(cfg *connect.DialConfig) { cfg.Remote, cfg.RemoteKey = "", strangerID.PublicKey() },
	}
	accepts := map[string]func(*connect.ResponderConfig){
		"a session with itself": func(cfg *connect.ResponderConfig) {
			cfg.PeerKeys = map[connect.PeerID]ed25519.PublicKey{appID.PeerID(): hostID.PublicKey()}
		},
		"an explicit key of another peer's": func(cfg *connect.ResponderConfig) {
			cfg.PeerKeys = map[connect.PeerID]ed25519.PublicKey{appID.PeerID(): strangerID.PublicKey()}
		},
		"an explicit key of no size": func(cfg *connect.ResponderConfig) {
			cfg.PeerKeys = map[connect.PeerID]ed25519.PublicKey{appID.PeerID(): nil}
		},
		"an explicit key for an id that is none": func(cfg *connect.ResponderConfig) {
			cfg.PeerKeys = map[connect.PeerID]ed25519.PublicKey{"app": appID.PublicKey()}
		},
	}
	for name, change := range common {
		dials[name] = func(cfg *connect.DialConfig) { change(&cfg.Config) }
		accepts[name] = func(cfg *connect.ResponderConfig) { change(&cfg.Config) }
	}

	requireConfigError := func(t *testing.T, err error, far connect.Transport) {
		failure := requireCode(t, err, connect.CodeInvalidConfig)
		assert.Equal(t, connect.HandshakeConfig, failure.Kind)
		assert.Empty(t, failure.Peer)
		assert.Contains(t, failure.Error(), "config: ")
		requireClosed(t, far)
	}
	t.Run("dialer", func(t *testing.T) {
		inBubbles(t, dials, func(t *testing.T, change func(*connect.DialConfig)) {
			cfg := dialConfig()
			change(&cfg)
			near, far := connect.Pipe()
			app, err := connect.Dial(t.Context(), near, cfg)
			require.Nil(t, app)
			requireConfigError(t, err, far)
		})
	})
	t.Run("responder", func(t *testing.T) {
		inBubbles(t, accepts, func(t *testing.T, change func(*connect.ResponderConfig)) {
			cfg := responderConfig()
			change(&cfg)
			host, far, err := acceptFrames(t, cfg)
			require.Nil(t, host)
			requireConfigError(t, err, far)
		})
	})

	t.Run("a peer is dialed by its id, by its key, or by both", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			respond := responderConfig()
			for _, change := range []func(*connect.DialConfig){
				func(cfg *connect.DialConfig) {},
				func(cfg *connect.DialConfig) { cfg.RemoteKey = hostID.PublicKey() },
				func(cfg *connect.DialConfig) { cfg.Remote, cfg.RemoteKey = "", hostID.PublicKey() },
			} {
				cfg := dialConfig()
				change(&cfg)
				connectPair(t, cfg, respond).close()
			}
		})
	})

	t.Run("a configuration is copied, so many handshakes may share it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			want := manifestText(dial.Manifest)
			var all sync.WaitGroup
			for range 8 {
				near, far := connect.Pipe()
				all.Go(func() {
					if app, err := connect.Dial(t.Context(), near, dial); assert.NoError(t, err) {
						app.Close()
						app.Wait()
					}
				})
				all.Go(func() {
					if host, err := connect.Accept(t.Context(), far, respond); assert.NoError(t, err) {
						host.Close()
						host.Wait()
					}
				})
			}
			all.Wait()
			assert.Equal(t, want, manifestText(dial.Manifest))
		})
	})
}

func TestAPeerWithOurOwnKeyIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := responderConfig()
		cfg.Allow = append(cfg.Allow, hostID.PeerID())
		own := plainHello(hostID, strings.Repeat("n", 16), "").signed(t, hostID, connect.HelloEnvelope).frame(t)
		requireRefused(t, cfg, own, connect.CodePeerNotAllowed)

		dial := dialConfig()
		dial.Remote, dial.Allow = appID.PeerID(), []connect.PeerID{appID.PeerID()}
		a, _ := connect.Pipe()
		_, err := connect.Dial(t.Context(), a, dial)
		var refused *connect.HandshakeError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, connect.HandshakeConfig, refused.Kind)
	})
}
