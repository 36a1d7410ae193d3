package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// liveToken returns the text of a token of the app's at the host that is good for ten
// minutes from now, changed.
func liveToken(t testing.TB, changes object) json.RawMessage {
	t.Helper()
	all := object{"exp": time.Now().Unix() + 600, "capabilities": []string{echoTool}}
	for name, value := range changes {
		all[name] = value
	}
	return signedToken(t, issuerID, claimsText(t, all))
}

func parsed(t testing.TB, document json.RawMessage) connect.Token {
	t.Helper()
	token, err := connect.ParseToken(document)
	require.NoError(t, err)
	return token
}

// trusting is a host that accepts tokens, and may insist on one.
func trusting(require bool) connect.ResponderConfig {
	respond := responderConfig()
	respond.TrustedIssuers = []connect.PeerID{issuerID.PeerID()}
	respond.RequireCapabilityToken = require
	respond.Tools = spoke.ToolHandlers{echoTool: echo, otherTool: echo, slowTool: echo}
	return respond
}

// tokenPeer returns a wire peer that dialed a host of ours.
func tokenPeer(t testing.TB, respond connect.ResponderConfig) (*connect.Session, *wirePeer) {
	t.Helper()
	return newWirePeer(t, "host", dialConfig(), respond)
}

// askWith asks for a tool with a token attached.
func (p *wirePeer) askWith(auth any, tool string) object {
	p.t.Helper()
	doc := p.toolRequest(tool)
	doc["auth"] = auth
	p.sequence++
	return p.ask(doc)
}

func (p *wirePeer) askPlain(tool string) object {
	p.t.Helper()
	return p.askNext(tool, object{"arguments": object{"n": 1}})
}

// present answers a challenge.
func (p *wirePeer) present(challenge object, token any) {
	p.t.Helper()
	p.sendObject(object{"challenge_id": challenge["challenge_id"], "method": challenge["method"], "proof": token, "extensions": object{}})
}

func (p *wirePeer) sendObject(doc object) {
	p.t.Helper()
	frame, err := json.Marshal(doc)
	require.NoError(p.t, err)
	p.send(frame)
}

func answered(answer object) string {
	if _, ok := answer["payload"]; ok {
		return "served"
	}
	return errorOf(answer)
}

const (
	served      = "served"
	tokenFailed = "auth_failed/token_invalid"
	denied      = "op_unsupported"
)

func withHost(t *testing.T, respond connect.ResponderConfig, f func(t *testing.T, p *wirePeer)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		s, p := tokenPeer(t, respond)
		defer s.Wait()
		defer s.Close()
		f(t, p)
	})
}

func TestAnAttachedTokenNarrowsItsRequest(t *testing.T) {
	withHost(t, trusting(false), func(t *testing.T, p *wirePeer) {
		token := liveToken(t, nil)
		assert.Equal(t, served, answered(p.askWith(token, echoTool)))
		assert.Equal(t, denied, answered(p.askWith(token, otherTool)), "the token does not grant it")
		assert.Equal(t, served, answered(p.askPlain(otherTool)), "no token is required")
		assert.Equal(t, denied, answered(p.askWith(liveToken(t, object{"capabilities": []string{}}), echoTool)), "no capabilities grant nothing")
		assert.Equal(t, denied, answered(p.askWith(liveToken(t, object{"capabilities": []string{"tools.test.unknown"}}), "tools.test.unknown")), "a token does not widen")
	})
}

func TestWhatATokenMustGrantForAnOp(t *testing.T) {
	respond := trusting(false)
	respond.Ports = &stub{}
	respond.Ops = []connect.Op{
		{Name: "check", Handle: echo},
		{Name: "test.own", Capability: "test.ops", Handle: echo},
	}
	withHost(t, respond, func(t *testing.T, p *wirePeer) {
		for op, capability := range map[string]string{
			"check": connect.CapabilityBaseline, "port.knowledge.get": connect.CapabilityBaseline,
			"test.own": "test.ops", echoTool: echoTool,
		} {
			for _, granted := range []string{connect.CapabilityBaseline, "test.ops", echoTool} {
				doc := p.request(op, object{"arguments": object{}, "entry_id": "e"})
				doc["auth"] = liveToken(t, object{"capabilities": []string{"x", granted}})
				p.sequence++
				got := answered(p.ask(doc))
				assert.Equal(t, granted == capability, got == served, "%s under %s: %s", op, granted, got)
			}
		}
	})
}

func TestAHostThatRequiresATokenRefusesRequestsWithoutOne(t *testing.T) {
	withHost(t, trusting(true), func(t *testing.T, p *wirePeer) {
		require.Equal(t, "capability-token", p.recv()["method"])
		assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)))
		assert.Equal(t, tokenFailed, answered(p.askPlain("tools.test.unknown")), "the token comes before the gate")
		assert.Equal(t, served, answered(p.askWith(liveToken(t, nil), echoTool)), "a request may bring its own")
		assert.Equal(t, tokenFailed, answered(p.askPlain(echoTool)), "which is good for that request alone")
		assert.Equal(t, tokenFailed, answered(p.askWith(nil, echoTool)), "null is attached too")
	})
}

func TestOnlyAFewTokensAreRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := tokenPeer(t, trusting(true))
		defer s.Wait()
		defer s.Close()
		p.recv()
		for n := range 20 {
			token := liveToken(t, object{"jti": string(rune('a' + n))})
			for range 2 {
				assert.Equal(t, served, answered(p.askWith(token, echoTool)))
				assert.Equal(t, denied, answered(p.askWith(token, otherTool)))
			}
			assert.LessOrEqual(t, connect.KnownTokens(s), 4)
		}
		assert.Equal(t, 4, connect.KnownTokens(s))
	})
}

// dialToken is a dialer with a token for the tools echo and other.
func dialToken(t testing.TB) connect.DialConfig {
	t.Helper()
	dial := dialConfig()
	dial.Token = parsed(t, liveToken(t, object{"capabilities": []string{echoTool, otherTool}}))
	return dial
}

func withApp(t *testing.T, dial func(t *testing.T) connect.DialConfig, f func(t *testing.T, s *connect.Session, p *wirePeer)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "app", dial(t), responderConfig())
		defer s.Wait()
		defer s.Close()
		f(t, s, p)
	})
}

func TestADialersTokenIsOnEveryRequestOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dial, respond := dialToken(t), trusting(true)
		l := connectPair(t, dial, respond)
		defer l.close()
		for range 2 {
			_, err := l.app.InvokeTool(t.Context(), otherTool, nil)
			require.NoError(t, err)
		}
		_, err := l.app.InvokeTool(t.Context(), slowTool, nil)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
		_, err = l.host.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err, "the other direction needs none")
	})
}

func TestWithTokenACallerChoosesTheTokenOfOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := connectPair(t, dialToken(t), trusting(false))
		defer l.close()
		narrow := connect.WithToken(t.Context(), parsed(t, liveToken(t, nil)))
		_, err := l.app.InvokeTool(narrow, echoTool, nil)
		require.NoError(t, err)
		_, err = l.app.InvokeTool(narrow, otherTool, nil)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
		_, err = l.app.InvokeTool(t.Context(), otherTool, nil)
		require.NoError(t, err)
		for name, changes := range map[string]object{"another's": {"sub": strangerID.PeerID()}, "for another": {"aud": strangerID.PeerID()}} {
			ctx := connect.WithToken(t.Context(), parsed(t, liveToken(t, changes)))
			_, err = l.app.InvokeTool(ctx, echoTool, nil)
			reject := requireReject(t, err, spoke.CodeInvalidInput, map[string]any{"kind": "token_invalid"})
			assert.False(t, reject.Remote(), name)
		}
		_, err = l.host.InvokeTool(connect.WithToken(t.Context(), connect.Token{}), echoTool, nil)
		require.NoError(t, err)
		theirs := liveToken(t, object{"sub": hostID.PeerID(), "aud": appID.PeerID()})
		_, err = l.host.InvokeTool(connect.WithToken(t.Context(), parsed(t, theirs)), echoTool, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "token_invalid"}) // the app trusts nobody
	})
}

func TestTheZeroTokenTakesTheTokenOffOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := connectPair(t, dialToken(t), trusting(false))
		defer l.close()
		_, err := l.app.InvokeTool(t.Context(), slowTool, nil)
		requireReject(t, err, spoke.CodeCapabilityPortMissing, unsupportedDetails)
		_, err = l.app.InvokeTool(connect.WithToken(t.Context(), connect.Token{}), slowTool, nil)
		require.NoError(t, err)
	})
}

func TestTheClockOfTokensIsInjected(t *testing.T) {
	respond := trusting(false)
	now := tokenEpoch
	respond.Now = func() time.Time { return now }
	withHost(t, respond, func(t *testing.T, p *wirePeer) {
		token := signedToken(t, issuerID, claimsText(t, object{"capabilities": []string{echoTool}}))
		assert.Equal(t, served, answered(p.askWith(token, echoTool)))
		now = tokenEpoch.Add(599 * time.Second)
		assert.Equal(t, served, answered(p.askWith(token, echoTool)))
		now = tokenEpoch.Add(600 * time.Second)
		assert.Equal(t, tokenFailed, answered(p.askWith(token, echoTool)))
	})
}

func TestTokenConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	source := func(context.Context) (connect.Token, error) { return connect.Token{}, nil }
	for name, change := range map[string]func(c *connect.DialConfig){
		"a token of another peer's": func(c *connect.DialConfig) { c.Token = parsed(t, liveToken(t, object{"sub": strangerID.PeerID()})) },
		"a token for another peer":  func(c *connect.DialConfig) { c.Token = parsed(t, liveToken(t, object{"aud": strangerID.PeerID()})) },
		"a token and a source":      func(c *connect.DialConfig) { *c = dialToken(t); c.TokenSource = source },
		"an issuer that is no peer": func(c *connect.DialConfig) { c.TrustedIssuers = []connect.PeerID{"x"} },
	} {
		t.Run(name, func(t *testing.T) {
			dial := dialConfig()
			change(&dial)
			a, b := connect.Pipe()
			defer b.Close()
			_, err := connect.Dial(t.Context(), a, dial)
			var refused *connect.HandshakeError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, connect.HandshakeConfig, refused.Kind)
		})
	}
	respond := responderConfig()
	respond.RequireCapabilityToken = true
	a, b := connect.Pipe()
	defer a.Close()
	_, err := connect.Accept(t.Context(), b, respond)
	assert.ErrorContains(t, err, "RequireCapabilityToken without TrustedIssuers")
}

// logOf returns a logger of everything and its text.
func logOf() (*slog.Logger, *lockedBuffer) {
	text := new(lockedBuffer)
	return slog.New(slog.NewJSONHandler(text, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})), text
}

func TestTokensAppearNeitherInLogsNorInErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		logger, text := logOf()
		var errs []error
		for _, changes := range []object{{"jti": "SECRET"}, {"jti": "SECRET", "exp": 1}, {"jti": "SECRET", "capabilities": []string{"SECRET"}}} {
			dial, respond := dialConfig(), trusting(true)
			dial.Logger, respond.Logger = logger, logger
			token := liveToken(t, changes)
			dial.TokenSource = func(context.Context) (connect.Token, error) { return connect.ParseToken(token) }
			l := connectPair(t, dial, respond)
			_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
			synctest.Wait()
			_, err2 := l.app.InvokeTool(connect.WithToken(t.Context(), parsed(t, liveToken(t, object{"jti": "SECRET", "sub": strangerID.PeerID()}))), echoTool, nil)
			errs = append(errs, err, err2)
			l.close()
		}
		s, p := tokenPeer(t, func() connect.ResponderConfig { r := trusting(true); r.Logger = logger; return r }())
		challenge := p.recv()
		p.present(object{"challenge_id": "SECRET", "method": "SECRET"}, "SECRET")
		p.present(challenge, liveToken(t, object{"jti": "SECRET", "iss": "SECRET", "sub": "SECRET"}))
		for _, auth := range []any{"SECRET", object{"SECRET": 1}, liveToken(t, object{"iss": "SECRET"}), liveToken(t, object{"SECRET": 1})} {
			assert.NotContains(t, fmtObject(p.askWith(auth, echoTool)), "SECRET")
		}
		s.Close()
		s.Wait()
		require.Contains(t, text.String(), "challenge")
		for _, secret := range []string{"SECRET", `"sig"`, string(issuerID.PeerID())} {
			assert.NotContains(t, text.String(), secret)
			assert.NotContains(t, errors.Join(errs...).Error(), secret)
		}
	})
}

func TestAPeerThatForgesTokensIsSlowedDown(t *testing.T) {
	withHost(t, trusting(false), func(t *testing.T, p *wirePeer) {
		began := time.Now()
		for range 200 {
			require.Equal(t, tokenFailed, answered(p.askWith("forged", echoTool)))
		}
		assert.Greater(t, time.Since(began), 100*time.Millisecond)
	})
}
