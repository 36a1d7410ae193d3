package connect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// lines is a log in memory.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// with returns the lines that contain all of the parts.
func (l *lines) with(parts ...string) []string {
	var found []string
	for line := range strings.Lines(l.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

func TestTheLogSaysWhoDidWhatAndHowItWent(t *testing.T) {
	var log lines
	cfg := serverConfig()
	cfg.Logger = log.logger()
	cfg.Tools = spoke.ToolHandlers{
		echoTool:  echo,
		otherTool: func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("disk on fire") },
		slowTool: func(context.Context, json.RawMessage) (any, error) {
			return nil, spoke.Rejectf(spoke.CodeRevisionConflict, "no")
		},
	}
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		l := joined(t, s, dialConfig())
		for _, tool := range []string{echoTool, otherTool, slowTool, "tools.test.unknown"} {
			l.app.InvokeTool(t.Context(), tool, nil)
		}
		_, err := l.host.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
		l.close()
		synctest.Wait()
		who := []string{"peer=" + string(appID.PeerID()), "session=" + l.host.ID()}
		for _, want := range [][]string{
			{"session opened"},
			{"served", "op=" + echoTool, "code=ok", "duration="},
			{"a handler failed", "op=" + otherTool, "code=INTERNAL_ERROR", "duration=", "disk on fire"},
			{"refused", "op=" + slowTool, "code=REVISION_CONFLICT", "duration="},
			{"denied a request", "op=tools.test.unknown", "code=op_unsupported"},
			{"invoked", "op=" + echoTool, "code=ok", "duration="},
			{"session ended", "duration="},
		} {
			assert.Len(t, log.with(append(want, who...)...), 1, "%v\n%s", want, log.String())
		}
	})
}

func TestTheLogHoldsNoPayloadKeyOrToken(t *testing.T) {
	const secret = "hunter2-hunter2"
	var log lines
	cfg := serverConfig()
	cfg.Logger = log.logger()
	cfg.Manifest.Tools[0].Input = raw(`{"type":"object","properties":{"n":{"type":"number"}},"additionalProperties":{"enum":[1]}}`)
	cfg.Manifest.Tools[1].Output = raw(`{"type":"number"}`)
	cfg.Tools = spoke.ToolHandlers{
		echoTool:  echo,
		otherTool: echo,
		slowTool: func(_ context.Context, args json.RawMessage) (any, error) {
			return nil, spoke.Rejectf(spoke.CodeInvalidInput, "cannot use %s", args).WithDetail("args", string(args))
		},
	}
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		for _, frame := range []string{`{"a":"` + secret + `"`, `{"` + secret + `":1,"` + secret + `":1}`, `{"a":` + secret + `}`} {
			near, far := connect.Pipe()
			accepted := make(chan error, 1)
			go func() { accepted <- s.Serve(t.Context(), far) }()
			p := &wirePeer{t: t, id: appID, transport: near}
			p.dial(dialConfig())
			for _, tool := range []string{echoTool, otherTool, slowTool, "tools.test.unknown"} {
				p.askNext(tool, object{"arguments": object{"n": secret, secret: secret}})
			}
			withToken := p.toolRequest(echoTool)
			withToken["auth"] = object{"v": 1, "sig": secret, "claims": secret}
			p.sequence++
			assert.Equal(t, "auth_failed/token_invalid", errorOf(p.ask(withToken)))
			p.send(edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(d object) { d["payload"] = secret }))
			p.recv()
			p.send(json.RawMessage(frame))
			assert.ErrorIs(t, <-accepted, connect.ErrMalformedFrame)
			<-time.After(time.Minute) // the penalty
		}
		near, far := connect.Pipe()
		require.NoError(t, near.Send(t.Context(), []byte(`{"peer_id":"`+strings.Repeat("x", 200)+secret+`"}`)))
		require.Error(t, s.Serve(t.Context(), far))
		near, far = connect.Pipe()
		require.NoError(t, near.Send(t.Context(), []byte(`{"`+secret+`":`+secret+`}`)))
		require.Error(t, s.Serve(t.Context(), far))
		l := joined(t, s, dialConfig())
		l.host.InvokeTool(t.Context(), echoTool, object{"secret": secret})
		l.close()
		synctest.Wait()
	})
	assert.NotEmpty(t, log.with("session ended", "malformed_frame"))
	assert.NotContains(t, log.String(), secret)
	for _, id := range []*connect.Identity{appID, hostID} {
		assert.NotContains(t, log.String(), fmt.Sprintf("%x", []byte(id.PublicKey())))
	}
}

func TestRefusalsFillNoLog(t *testing.T) {
	var log lines
	cfg := serverConfig()
	cfg.Logger = log.logger()
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		refuse := func(times int) {
			for range times {
				near, far := connect.Pipe()
				near.Close()
				require.Error(t, s.Serve(t.Context(), far))
			}
		}
		refuse(1000)
		assert.Len(t, log.with("refused a handshake", "code=transport"), 10)
		<-time.After(2 * time.Second)
		refuse(1)
		assert.Len(t, log.with("refused a handshake", "unlogged=990"), 1, "what was left out is counted")
		refuse(1)
		assert.Len(t, log.with("refused a handshake", "unlogged=0"), 11)
	})
}

func TestAPeerThatComesAndGoesFillsNoLog(t *testing.T) {
	var log lines
	cfg := serverConfig()
	cfg.Logger = log.logger()
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		for range 300 {
			joined(t, s, dialConfig()).close()
		}
		for _, event := range []string{"session opened", "session ended"} {
			assert.Len(t, log.with(event), 100)
		}
		<-time.After(2 * time.Second)
		joined(t, s, dialConfig()).close()
		for _, event := range []string{"session opened", "session ended"} {
			assert.Len(t, log.with(event, "unlogged=200"), 1)
		}
	})
}

// counted is a Metrics that writes down what it is told.
type counted struct {
	mu     sync.Mutex
	events []string
	queued int
}

func (c *counted) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, fmt.Sprintf(format, args...))
}

func (c *counted) HandshakeRefused(code string) { c.note("refused %s", code) }
func (c *counted) SessionOpened()               { c.note("opened") }
func (c *counted) SessionClosed(cause string, lasted time.Duration) {
	c.note("closed %s after %v", cause, lasted)
}
func (c *counted) Served(op, code string, took time.Duration) {
	c.note("served %s %s in %v", op, code, took)
}
func (c *counted) Invoked(op, code string, took time.Duration) {
	c.note("invoked %s %s in %v", op, code, took)
}
func (c *counted) RepliesQueued(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued += change
}

func (c *counted) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.events
	c.events = nil
	return taken
}

func TestMetricsAreTold(t *testing.T) {
	host, app := new(counted), new(counted)
	cfg, dial := serverConfig(), dialConfig()
	cfg.Metrics, dial.Metrics = host, app
	cfg.Ops = []connect.Op{{Name: "check", Handle: func(context.Context, json.RawMessage) (any, error) { return 1, nil }}}
	cfg.Tools = spoke.ToolHandlers{echoTool: echo, slowTool: func(context.Context, json.RawMessage) (any, error) {
		<-time.After(7 * time.Second)
		return 1, nil
	}}
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		l := joined(t, s, dial)
		for _, op := range []string{echoTool, slowTool, otherTool, "tools.test.made-up", "check", "compute", "made up"} {
			l.app.Invoke(t.Context(), op, object{"arguments": object{}})
		}
		<-time.After(3 * time.Second)
		l.app.Close()
		l.host.Wait()
		synctest.Wait()
		assert.Equal(t, []string{
			"opened",
			"invoked tools.test.echo ok in 0s",
			"invoked tools.test.slow timeout in 5s",
			"invoked tools.test.other CAPABILITY_PORT_MISSING in 0s",
			"invoked other CAPABILITY_PORT_MISSING in 0s",
			"invoked check ok in 0s",
			"invoked compute CAPABILITY_PORT_MISSING in 0s",
			"invoked other CAPABILITY_PORT_MISSING in 0s",
			"closed closed after 8s",
		}, app.take())
		assert.Equal(t, []string{
			"opened",
			"served tools.test.echo ok in 0s",
			"served tools.test.other op_unsupported in 0s",
			"served other op_unsupported in 0s",
			"served check ok in 0s",
			"served compute op_unsupported in 0s",
			"served other op_unsupported in 0s",
			"served tools.test.slow ok in 7s",
			"closed peer_left after 8s",
		}, host.take())
		requireCode(t, join(t, s, dialAs(strangerID)).hostErr, connect.CodePeerNotAllowed)
		assert.Equal(t, []string{"refused peer_not_allowed"}, host.take())
	})
	assert.Zero(t, host.queued)
}

func TestTheCauseOfAnEndIsOneOfAFewWords(t *testing.T) {
	for label, end := range map[string]func(t *testing.T, s *connect.Session, p *wirePeer){
		"closed":          func(_ *testing.T, s *connect.Session, _ *wirePeer) { s.Close() },
		"peer_left":       func(_ *testing.T, _ *connect.Session, p *wirePeer) { p.transport.Close() },
		"malformed_frame": func(_ *testing.T, _ *connect.Session, p *wirePeer) { p.send(raw("x")) },
		"sequence_exhausted": func(t *testing.T, s *connect.Session, _ *wirePeer) {
			connect.SetOutboundSequence(s, connect.MaxSequence+1)
			s.Invoke(t.Context(), "any", nil)
		},
		"out_of_step": func(t *testing.T, s *connect.Session, p *wirePeer) {
			call := start(t.Context(), s, otherTool)
			p.respondError(p.recv(), "invalid_sequence", nil)
			call.wait()
		},
		"peer_not_reading": func(t *testing.T, s *connect.Session, _ *wirePeer) {
			for range 40 {
				start(t.Context(), s, otherTool)
			}
		},
	} {
		t.Run(label, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				metrics := new(counted)
				cfg := dialConfig()
				cfg.Metrics = metrics
				s, p := newWirePeer(t, "app", cfg, responderConfig())
				end(t, s, p)
				s.Wait()
				synctest.Wait()
				var ended []string
				for _, event := range metrics.take() {
					if strings.HasPrefix(event, "closed ") {
						ended = append(ended, strings.Fields(event)[1])
					}
				}
				assert.Equal(t, []string{label}, ended)
			})
		})
	}
}

func TestRepliesThatAreNeverWrittenAreCountedOut(t *testing.T) {
	metrics := new(counted)
	respond := responderConfig()
	respond.Metrics = metrics
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), respond)
		for range 50 {
			p.send(p.sign(connect.RequestEnvelope, p.toolRequest("tools.test.unknown")))
			p.sequence++
		}
		synctest.Wait()
		assert.Positive(t, metrics.queued)
		s.Close()
		s.Wait()
		assert.Zero(t, metrics.queued)
	})
}

func TestEveryAnswerIsCountedUnderTheCodeThatIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		serve spoke.ToolHandler
		want  string
	}{
		"a handler that panics":             {func(context.Context, json.RawMessage) (any, error) { panic("boom") }, "INTERNAL_ERROR"},
		"a handler that leaves":             {func(context.Context, json.RawMessage) (any, error) { runtime.Goexit(); return nil, nil }, "INTERNAL_ERROR"},
		"a code that is not the protocol's": {func(context.Context, json.RawMessage) (any, error) { return nil, spoke.Rejectf("MY_OWN", "no") }, "INTERNAL_ERROR"},
		"a reject": {func(context.Context, json.RawMessage) (any, error) {
			return nil, spoke.Rejectf(spoke.CodeInvalidInput, "no")
		}, "INVALID_INPUT"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				metrics, respond := new(counted), responderConfig()
				respond.Metrics = metrics
				respond.Tools = spoke.ToolHandlers{echoTool: c.serve}
				l := connectPair(t, dialConfig(), respond)
				defer l.close()
				_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
				require.EqualValues(t, c.want, spoke.CodeOf(err))
				assert.Equal(t, []string{"opened", "served tools.test.echo " + c.want + " in 0s"}, metrics.take())
			})
		})
	}
}

// loud is a Metrics that fails.
type loud struct{ connect.Metrics }

func (loud) SessionOpened()                       {}
func (loud) SessionClosed(string, time.Duration)  {}
func (loud) RepliesQueued(int)                    {}
func (loud) Served(string, string, time.Duration) { panic("boom") }

func TestMetricsThatPanicFailOneRequestOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		respond := responderConfig()
		respond.Metrics = loud{}
		l := connectPair(t, dialConfig(), respond)
		defer l.close()
		for range 2 {
			_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
			assert.Equal(t, spoke.CodeInternalError, spoke.CodeOf(err))
		}
	})
}

func TestPortsAreCountedByTheirOps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dial, respond := dialConfig(), responderConfig()
		app, host := new(counted), new(counted)
		dial.Metrics, respond.Metrics = app, host
		respond.Ports = &stub{}
		l := connectPair(t, dial, respond)
		defer l.close()
		for _, op := range []string{"port.knowledge.get", "port.made.up"} {
			_, _ = l.app.Invoke(t.Context(), op, object{"entry_id": "x"})
		}
		assert.Equal(t, []string{"opened", "invoked port.knowledge.get ok in 0s", "invoked other CAPABILITY_PORT_MISSING in 0s"}, app.take())
		assert.Equal(t, []string{"opened", "served port.knowledge.get ok in 0s", "served other op_unsupported in 0s"}, host.take())
	})
}

func TestRequestsThatMeetADefectFillNoLog(t *testing.T) {
	for line, serve := range map[string]spoke.ToolHandler{
		"a handler panicked": func(context.Context, json.RawMessage) (any, error) { panic("boom") },
		"a handler failed":   func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("no") },
		"a detail of a reject cannot travel": func(context.Context, json.RawMessage) (any, error) {
			return nil, spoke.Rejectf(spoke.CodeInvalidInput, "no").WithDetail("a", make(chan int))
		},
	} {
		t.Run(line, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log, respond := new(lines), responderConfig()
				respond.Logger = log.logger()
				respond.Tools = spoke.ToolHandlers{echoTool: serve}
				l := connectPair(t, dialConfig(), respond)
				defer l.close()
				for range 100 {
					_, _ = l.app.InvokeTool(t.Context(), echoTool, nil)
				}
				assert.Len(t, log.with(line), 7)
				assert.Len(t, log.with(line, "count=64"), 1)
			})
		})
	}
}
