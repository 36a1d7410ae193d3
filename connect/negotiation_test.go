package connect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestNegotiation(t *testing.T) {
	listing := func(cfg *connect.Config, capabilities ...string) {
		cfg.Manifest = testManifest("label")
		cfg.Manifest.Capabilities = capabilities
		cfg.Tools = nil
	}

	t.Run("the order is the responder's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			listing(&dial.Config, "a", "b", "c", "d")
			listing(&respond.Config, "x", "d", "b", "y", "a")
			l := connectPair(t, dial, respond)
			defer l.close()
			assert.Equal(t, []string{"d", "b", "a"}, l.host.NegotiatedCapabilities())
			assert.Equal(t, []string{"d", "b", "a"}, l.app.NegotiatedCapabilities())
		})
	})

	t.Run("what a caller does to the list changes nothing", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			l := connectPair(t, dialConfig(), responderConfig())
			defer l.close()
			want := l.app.NegotiatedCapabilities()
			l.app.NegotiatedCapabilities()[0] = "admin"
			assert.Equal(t, want, l.app.NegotiatedCapabilities())
		})
	})

	t.Run("the snapshot lists what was negotiated", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			respond := responderConfig()
			requireAccepted(t, respond, appHello(t).frame(t), func(r *connect.Responder, far connect.Transport) {
				assert.JSONEq(t, `["spoke-baseline","test.ops","tools.test.echo","tools.test.other"]`, snapshot(t, far))
			})
		})
	})

	t.Run("names differ in case and in normal form", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			listing(&dial.Config, "a", "caf\u00e9", "same")
			listing(&respond.Config, "A", "cafe\u0301", "same")
			l := connectPair(t, dial, respond)
			defer l.close()
			assert.Equal(t, []string{"same"}, l.app.NegotiatedCapabilities())
		})
	})

	t.Run("nothing in common puts the baseline on the wire and grants nothing", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			respond := responderConfig()
			respond.Ops = []connect.Op{{Name: "upsert", Handle: func(context.Context, json.RawMessage) (any, error) {
				assert.Fail(t, "the op was served")
				return nil, nil
			}}}
			host := manifestText(spoke.HostCapabilityManifest{SchemaVersion: 1, HostID: "label", Capabilities: []string{"nothing you know"}})
			hello := plainHello(appID, appNonce, "").with("host", host).signed(t, appID, connect.HelloEnvelope)
			requireAccepted(t, respond, hello.frame(t), func(r *connect.Responder, far connect.Transport) {
				assert.Empty(t, r.NegotiatedCapabilities())
				assert.JSONEq(t, `["spoke-baseline"]`, snapshot(t, far))
				for sequence, op := range []string{"upsert", echoTool} {
					request := handmade{
						"session_id": raw("%s", quoted(r.ID())), "request_id": raw(`"r"`),
						"sequence": raw("%d", sequence), "op": raw("%s", quoted(op)), "payload": raw(`{"arguments":{}}`),
					}
					require.NoError(t, far.Send(t.Context(), request.signed(t, appID, connect.RequestEnvelope).frame(t)))
					answer, err := far.Recv(t.Context())
					require.NoError(t, err)
					assert.Contains(t, string(answer), spoke.WireOpUnsupported)
				}
			})
		})
	})

	t.Run("nothing in common grants nothing to the responder either", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			listing(&respond.Config, "nothing you know")
			dial.Ops = []connect.Op{{Name: "check", Handle: func(context.Context, json.RawMessage) (any, error) {
				assert.Fail(t, "the op was served")
				return nil, nil
			}}}
			l := connectPair(t, dial, respond)
			defer l.close()
			assert.Empty(t, l.app.NegotiatedCapabilities())
			assert.Empty(t, l.host.NegotiatedCapabilities())
			_, err := l.host.Invoke(t.Context(), "check", struct{}{})
			assert.Equal(t, spoke.CodeCapabilityPortMissing, rejectOf(t, err).Code)
			_, err = l.host.InvokeTool(t.Context(), echoTool, nil)
			assert.Equal(t, spoke.CodeCapabilityPortMissing, rejectOf(t, err).Code)
		})
	})

	t.Run("a list that the responder made up grants it nothing", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			host := manifestText(testManifest("label"))
			hello := plainHello(hostID, hostNonce, d.nonce).with("host", host).signed(t, hostID, connect.HelloEnvelope)
			session := plainSession().with("negotiated_capabilities", `["tools.test.echo"]`).signed(t, hostID, connect.SessionEnvelope)
			d.answer(t, hello.frame(t), session.frame(t))
			<-d.done
			require.NoError(t, d.err)
			assert.Equal(t, []string{connect.CapabilityBaseline, "test.ops"}, d.app.NegotiatedCapabilities())
			request := handmade{
				"session_id": session["session_id"], "request_id": raw(`"r"`),
				"sequence": raw("0"), "op": raw("%s", quoted(echoTool)), "payload": raw(`{"arguments":{}}`),
			}
			d.answer(t, request.signed(t, hostID, connect.RequestEnvelope).frame(t))
			answer, err := d.far.Recv(t.Context())
			require.NoError(t, err)
			assert.Contains(t, string(answer), spoke.WireOpUnsupported)
			d.app.Close()
			require.NoError(t, d.app.Wait())
		})
	})
}

// snapshot reads a responder's hello and session and returns the session's list.
func snapshot(t testing.TB, far connect.Transport) string {
	t.Helper()
	_, err := far.Recv(t.Context())
	require.NoError(t, err)
	frame, err := far.Recv(t.Context())
	require.NoError(t, err)
	return string(handmadeOf(t, frame)["negotiated_capabilities"])
}

func TestImperfectManifests(t *testing.T) {
	tool := func(id, more string) string {
		return `{"schema_version":1,"capability_id":"` + id + `","op":"` + id + `","description":"d","input":{},"output":{}` + more + `}`
	}
	type imperfect struct {
		host       string
		negotiated []string
		tools      []string
	}
	inBubbles(t, map[string]imperfect{
		"a manifest without members negotiates nothing": {host: "{}"},
		"members of the wrong type count as absent": {
			host: `{"schema_version":"1","host_id":7,"roles":{},"capabilities":"spoke-baseline","namespaces":null,"extensions":[],"tools":{}}`},
		"only the strings among the capabilities count": {
			host:       `{"schema_version":1,"host_id":"l","roles":["r"],"capabilities":[1,"spoke-baseline",null,{},["test.ops"]],"namespaces":["test"],"extensions":{}}`,
			negotiated: []string{"spoke-baseline"}},
		"a repeated capability counts once": {
			host:       `{"schema_version":1,"host_id":"l","roles":["r"],"capabilities":["test.ops","test.ops"],"namespaces":["test"],"extensions":{}}`,
			negotiated: []string{"test.ops"}},
		"an unknown member is a problem": {
			host:       `{"schema_version":1,"host_id":"l","roles":["r"],"capabilities":["test.ops"],"namespaces":["test"],"extensions":{},"x":1}`,
			negotiated: []string{"test.ops"}},
		"tools that break the rule are left out, the others stay": {
			host: `{"schema_version":1,"host_id":"l","roles":["r"],"namespaces":["test"],"extensions":{},` +
				`"capabilities":["tools.test.echo","tools.else.where","tools.test.other"],"tools":[` + strings.Join([]string{
				tool(echoTool, ""),
				tool("tools.else.where", ""), // a namespace that is not listed
				tool(slowTool, ""),           // a capability that is not listed
				tool("tools.Test.Echo", ""),  // outside the grammar
				strings.Replace(tool(otherTool, ""), `"op":"`, `"op":"x`, 1), // another op
				tool(echoTool, ""), // a duplicate
				"7",                // no descriptor
			}, ",") + `]}`,
			negotiated: []string{echoTool, otherTool},
			tools:      []string{echoTool}},
	}, func(t *testing.T, c imperfect) {
		respond := responderConfig()
		hello := plainHello(appID, appNonce, "").with("host", c.host).signed(t, appID, connect.HelloEnvelope)
		requireAccepted(t, respond, hello.frame(t), func(r *connect.Responder, _ connect.Transport) {
			requireImperfect(t, r.Session, c.host, c.negotiated, c.tools)
		})
		requireDialAccepts(t, dialConfig(), func(nonce string) [][]byte {
			hello := plainHello(hostID, hostNonce, nonce).with("host", c.host).signed(t, hostID, connect.HelloEnvelope)
			return [][]byte{hello.frame(t), hostSession(t).frame(t)}
		}, func(app *connect.RemoteAdapter) {
			requireImperfect(t, app.Session, c.host, c.negotiated, c.tools)
		})

		respond = responderConfig()
		respond.RefuseImperfectManifest = true
		failure := requireRefused(t, respond, hello.frame(t), connect.CodeManifestRefused)
		assert.Equal(t, spoke.CodeInvalidInput, rejectOf(t, failure).Code)
		dial := dialConfig()
		dial.RefuseImperfectManifest = true
		requireDialRefuses(t, dial, connect.CodeManifestRefused, func(nonce string) [][]byte {
			hello := plainHello(hostID, hostNonce, nonce).with("host", c.host).signed(t, hostID, connect.HelloEnvelope)
			return [][]byte{hello.frame(t), hostSession(t).frame(t)}
		})
	})

	t.Run("a perfect manifest is not refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial, respond := dialConfig(), responderConfig()
			dial.RefuseImperfectManifest, respond.RefuseImperfectManifest = true, true
			l := connectPair(t, dial, respond)
			defer l.close()
			assert.Nil(t, l.app.RemoteManifestProblems())
			assert.Len(t, l.app.RemoteTools(), 3)
		})
	})

	t.Run("wrong types read as zero values", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			host := `{"schema_version":"1","host_id":7,"roles":{},"capabilities":{},"namespaces":1,"extensions":[],"tools":{},"authority":1}`
			hello := plainHello(appID, appNonce, "").with("host", host).signed(t, appID, connect.HelloEnvelope)
			requireAccepted(t, responderConfig(), hello.frame(t), func(r *connect.Responder, _ connect.Transport) {
				m := r.RemoteManifest()
				assert.Zero(t, m.SchemaVersion)
				assert.Empty(t, m.HostID)
				assert.Empty(t, m.Roles)
				assert.Empty(t, m.Capabilities)
				assert.Empty(t, m.Namespaces)
				assert.Nil(t, m.Authority)
				assert.Empty(t, m.Extensions)
				assert.Empty(t, m.Tools)
			})
		})
	})
}

func requireImperfect(t testing.TB, s *connect.Session, host string, negotiated, tools []string) {
	t.Helper()
	assert.NotEmpty(t, s.RemoteManifestProblems())
	assert.JSONEq(t, host, string(s.RemoteManifestJSON()))
	assert.ElementsMatch(t, negotiated, s.NegotiatedCapabilities())
	var ids []string
	for _, tool := range s.RemoteTools() {
		ids = append(ids, tool.CapabilityID)
	}
	assert.Equal(t, tools, ids)
}
