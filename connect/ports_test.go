package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

var optional = []string{connect.CapabilityComputable, connect.CapabilityFork}

// portConfigs returns both sides' configurations: each serves provider and lists more
// capabilities.
func portConfigs(provider any, more ...string) (connect.DialConfig, connect.ResponderConfig) {
	dial, respond := dialConfig(), responderConfig()
	for _, cfg := range []*connect.Config{&dial.Config, &respond.Config} {
		cfg.Ports = provider
		cfg.Manifest.Capabilities = append(cfg.Manifest.Capabilities, more...)
	}
	return dial, respond
}

// eachPort runs f for every op, with either side as the caller.
func eachPort(t *testing.T, dial connect.DialConfig, respond connect.ResponderConfig, f func(t *testing.T, c portCase, caller *connect.Session)) {
	t.Helper()
	bothWays(t, dial, respond, func(t *testing.T, caller, _ *connect.Session) {
		for _, c := range portCases {
			f(t, c, caller)
		}
	})
}

var unsupportedDetails = map[string]any{"wire_code": "op_unsupported"}

func TestEveryPortIsDrivenAndServedThroughItsTypedMethods(t *testing.T) {
	provider := &stub{}
	dial, respond := portConfigs(provider, optional...)
	eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
		got, err := c.drive(t.Context(), connect.NewPorts(caller))
		require.NoError(t, err, c.op)
		assert.Equal(t, c.payload, provider.last(), "%s: what the provider got", c.op)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		assert.JSONEq(t, c.answer, string(text), c.op)
	})
}

func TestWhatTheTypedMethodsSend(t *testing.T) {
	dial, respond := portConfigs(nil, optional...)
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "app", dial, respond)
		defer s.Wait()
		defer s.Close()
		for _, c := range portCases {
			done := make(chan error, 1)
			go func() { _, err := c.drive(t.Context(), connect.NewPorts(s)); done <- err }()
			request := p.recv()
			assert.Equal(t, c.op, request["op"])
			text, err := json.Marshal(request["payload"])
			require.NoError(t, err)
			assert.JSONEq(t, c.payload, string(text))
			p.respond(request, "payload", json.RawMessage(c.answer))
			assert.NoError(t, <-done, c.op)
		}
	})
}

func TestAPortWhoseCapabilityWasNotNegotiatedIsDenied(t *testing.T) {
	for _, missing := range []string{connect.CapabilityBaseline, connect.CapabilityComputable, connect.CapabilityFork} {
		provider := &stub{}
		dial, respond := portConfigs(provider, optional...)
		var rest []string
		for _, capability := range dial.Manifest.Capabilities {
			if capability != missing {
				rest = append(rest, capability)
			}
		}
		dial.Manifest.Capabilities = rest // one side is enough
		eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
			_, err := c.drive(t.Context(), connect.NewPorts(caller))
			if c.capability != missing {
				require.NoError(t, err, c.op)
				return
			}
			requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
		})
	}
}

func TestWithoutAProviderEveryPortIsDenied(t *testing.T) {
	for name, provider := range map[string]any{"nil": nil, "one of no family": struct{}{}, "a nil pointer of no family": (*struct{})(nil)} {
		t.Run(name, func(t *testing.T) {
			dial, respond := portConfigs(provider, optional...)
			eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
				_, err := c.drive(t.Context(), connect.NewPorts(caller))
				requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
			})
		})
	}
}

func TestAProviderServesTheFamiliesThatItHas(t *testing.T) {
	all := &stub{}
	families := map[string]any{
		"port.knowledge.":  struct{ spoke.KnowledgePort }{all},
		"port.relation.":   struct{ spoke.RelationPort }{all},
		"port.scope.":      struct{ spoke.ScopePort }{all},
		"port.finding.":    struct{ spoke.FindingPort }{all},
		"port.rule.":       struct{ spoke.RulePort }{all},
		"port.host.":       struct{ spoke.HostPort }{all},
		"port.computable.": struct{ spoke.ComputablePort }{all},
		"port.fork.":       struct{ spoke.ForkPort }{all},
	}
	for prefix, provider := range families {
		t.Run(prefix, func(t *testing.T) {
			served := 0
			dial, respond := portConfigs(provider, optional...)
			eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
				_, err := c.drive(t.Context(), connect.NewPorts(caller))
				if strings.HasPrefix(c.op, prefix) {
					served++
					require.NoError(t, err, c.op)
					return
				}
				requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
			})
			assert.Positive(t, served)
		})
	}
}

func TestAnOpThatIsNoPortOfTheProtocolIsDenied(t *testing.T) {
	dial, respond := portConfigs(&stub{}, optional...)
	bothWays(t, dial, respond, func(t *testing.T, caller, _ *connect.Session) {
		for _, op := range []string{"port.", "port.knowledge", "port.knowledge.get ", "port.knowledge.delete", "Port.knowledge.get"} {
			_, err := caller.Invoke(t.Context(), op, raw(`{"entry_id":"bell"}`))
			requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
		}
	})
}

func TestAPayloadOfTheWrongShapeNamesTheMember(t *testing.T) {
	provider := &stub{}
	dial, respond := portConfigs(provider, optional...)
	eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
		bad := map[string]string{`null`: "payload", `[]`: "payload", `"x"`: "payload", `7`: "payload"}
		for payload, field := range c.badPayloads {
			bad[payload] = field
		}
		for payload, field := range bad {
			_, err := caller.Invoke(t.Context(), c.op, raw("%s", payload))
			reject := requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"field": field})
			assert.True(t, reject.Remote())
		}
		assert.Empty(t, provider.last(), "%s: the provider is not asked", c.op)
		provider.asked = nil
	})
}

func TestAnAnswerOfTheWrongShapeRejects(t *testing.T) {
	dial, respond := portConfigs(nil, optional...)
	eachRoleWith(t, func() connect.DialConfig { return dial },
		func() connect.ResponderConfig { respond.Nonces = connect.NewNonceStore(0); return respond },
		func(t *testing.T, s *connect.Session, p *wirePeer) {
			p.requireWorks() // so that no probe holds the invokes back
			for _, c := range portCases {
				require.NotEmpty(t, c.badAnswers)
				for _, bad := range c.badAnswers {
					done := make(chan error, 1)
					go func() { _, err := c.drive(t.Context(), connect.NewPorts(s)); done <- err }()
					p.respond(p.recv(), "payload", json.RawMessage(bad))
					reject := requireReject(t, <-done, spoke.CodeInternalError, map[string]any{"kind": "transport"})
					assert.False(t, reject.Remote(), "%s %s", c.op, bad)
				}
			}
			p.requireWorks()
		})
}

// Each required member of an answer is insisted on, for every op.
func TestAnAnswerWithoutARequiredMemberRejects(t *testing.T) {
	dial, respond := portConfigs(nil, optional...)
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "app", dial, respond)
		defer s.Wait()
		defer s.Close()
		for _, c := range portCases {
			inList := strings.HasPrefix(c.answer, "[")
			text := strings.Trim(c.answer, "[]")
			if inList {
				text = c.answer[1 : len(c.answer)-1]
			}
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(text), &members))
			for name, value := range members {
				delete(members, name)
				bad, err := json.Marshal(members)
				require.NoError(t, err)
				members[name] = value
				if inList {
					bad = raw(`[%s,%s]`, text, bad)
				}
				done := make(chan error, 1)
				go func() { _, err := c.drive(t.Context(), connect.NewPorts(s)); done <- err }()
				p.respond(p.recv(), "payload", json.RawMessage(bad))
				err = <-done
				requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "transport"})
				assert.ErrorContains(t, err, name+" is missing", c.op)
			}
		}
	})
}

func TestWhatAProviderReturnsIsCheckedBeforeItLeaves(t *testing.T) {
	dial, respond := portConfigs(&stub{spoilt: true}, optional...)
	eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
		_, err := c.drive(t.Context(), connect.NewPorts(caller))
		reject := requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "result"})
		assert.True(t, reject.Remote(), c.op)
	})
}

func TestAProvidersErrorIsTreatedAsAHandlersError(t *testing.T) {
	for err, want := range map[error]spoke.Code{
		spoke.Rejectf(spoke.CodeStoredRevisionStale, "behind").WithDetail("revision", 4.0): spoke.CodeStoredRevisionStale,
		errors.New("secret"): spoke.CodeInternalError,
	} {
		dial, respond := portConfigs(&stub{fail: err}, optional...)
		eachPort(t, dial, respond, func(t *testing.T, c portCase, caller *connect.Session) {
			_, got := c.drive(t.Context(), connect.NewPorts(caller))
			reject := rejectOf(t, got)
			assert.Equal(t, want, reject.Code, c.op)
			assert.NotContains(t, reject.Message, "secret")
			if want == spoke.CodeStoredRevisionStale {
				assert.Equal(t, map[string]any{"revision": 4.0}, reject.Details)
			}
		})
	}
}

func TestAnEmptyListTravelsAsAList(t *testing.T) {
	dial, respond := portConfigs(nothing{}, optional...)
	bothWays(t, dial, respond, func(t *testing.T, caller, _ *connect.Session) {
		got, err := caller.Invoke(t.Context(), "port.scope.list_knowledge_entries", raw(aScope))
		require.NoError(t, err)
		assert.Equal(t, "[]", string(got))
		list, err := connect.NewPorts(caller).ListKnowledgeEntries(t.Context(), spoke.Scope{ScopeID: "x"})
		require.NoError(t, err)
		assert.NotNil(t, list)
		assert.Empty(t, list)
	})
}

type nothing struct{}

func (nothing) ListKnowledgeEntries(context.Context, spoke.Scope) ([]spoke.KnowledgeEntry, error) {
	return nil, nil
}

func (nothing) ListTimelineEvents(context.Context, spoke.Scope) ([]spoke.TimelineEvent, error) {
	return nil, nil
}

func TestAProviderReverseInvokesThePeerThatCalledIt(t *testing.T) {
	var rolled json.RawMessage
	provider := &stub{}
	provider.during = func(ctx context.Context) {
		if s, ok := connect.SessionFromContext(ctx); ok {
			rolled, provider.fail = s.InvokeTool(ctx, echoTool, raw(`{"count":2}`))
		}
	}
	dial, respond := portConfigs(provider)
	bothWays(t, dial, respond, func(t *testing.T, caller, _ *connect.Session) {
		rolled = nil
		_, err := connect.NewPorts(caller).GetKnowledgeEntry(t.Context(), "bell")
		require.NoError(t, err)
		assert.Equal(t, `{"count":2}`, string(rolled))
	})
}

func TestAResponseThatCarriesAnErrorIsAReject(t *testing.T) {
	failure := &spoke.ErrorEnvelope{Code: "KNOWLEDGE_ENTRY_NOT_FOUND", Message: "gone", Details: map[string]any{"entry_id": "bell"}}
	dial, respond := portConfigs(refusing{failure}, optional...)
	bothWays(t, dial, respond, func(t *testing.T, caller, _ *connect.Session) {
		_, err := connect.NewPorts(caller).Project(t.Context(), spoke.ProjectRequest{})
		requireReject(t, err, spoke.CodeKnowledgeEntryNotFound, failure.Details)
		_, err = connect.NewPorts(caller).Compute(t.Context(), spoke.ComputeRequest{})
		requireReject(t, err, spoke.CodeKnowledgeEntryNotFound, failure.Details)
	})
}

type refusing struct{ failure *spoke.ErrorEnvelope }

func (f refusing) Project(context.Context, spoke.ProjectRequest) (spoke.ProjectResponse, error) {
	return spoke.ProjectResponse{Error: f.failure}, nil
}

func (f refusing) Compute(context.Context, spoke.ComputeRequest) (spoke.ComputeResponse, error) {
	return spoke.ComputeResponse{Error: f.failure}, nil
}

func TestTheHostsManifestComesFromTheHandshake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := connectPair(t, dialConfig(), responderConfig())
		l.close()
		assert.Equal(t, l.app.RemoteManifest(), l.app.GetHostCapabilityManifest())
		assert.Equal(t, "label", l.app.GetHostCapabilityManifest().HostID)
	})
}

func TestTheCatalogueOfPorts(t *testing.T) {
	require.Len(t, portCases, 12)
	for _, c := range portCases {
		capability, ok := connect.PortCapability(c.op)
		assert.True(t, ok)
		assert.Equal(t, c.capability, capability, c.op)
	}
	var listed []string
	for _, c := range portCases {
		listed = append(listed, c.op)
	}
	assert.ElementsMatch(t, listed, connect.PortOps())
	_, ok := connect.PortCapability("port.knowledge.delete")
	assert.False(t, ok)
	_, ok = connect.CoreCapability("port.knowledge.get")
	assert.False(t, ok, "what a port requires is its row's")
}

func FuzzPortPayload(f *testing.F) {
	for i, c := range portCases {
		f.Add(uint8(i), []byte(c.payload))
		for bad := range c.badPayloads {
			f.Add(uint8(i), []byte(bad))
		}
	}
	require.NotEmpty(f, portCases)
	f.Fuzz(func(t *testing.T, i uint8, payload []byte) {
		canonical, err := jcs.CanonicalExact(payload, 200)
		if err != nil {
			return
		}
		op := portCases[int(i)%len(portCases)].op
		err = connect.ServePort(t.Context(), op, &stub{}, canonical)
		if err == nil {
			return
		}
		reject := rejectOf(t, err)
		assert.Equal(t, spoke.CodeInvalidInput, reject.Code, "%v", err)
		assert.NotEmpty(t, reject.Details["field"])
	})
}
