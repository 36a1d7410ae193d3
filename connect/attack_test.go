package connect_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Each attack of this file and of attack_replay_test.go is stopped by one rule or two;
// without the rule its test fails.
//
// Source: wire spec, sections 3 to 5.

func TestAttackResponseSwap(t *testing.T) {
	// Two invokes wait; the peer has answered both and the answers are on their way.
	swapped := func(t *testing.T, members []string, want map[string]any) {
		eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
			one, other := start(t.Context(), s, otherTool), start(t.Context(), s, otherTool)
			var answers []object
			for range 2 {
				request := p.recv()
				signed := p.sign(connect.ResponseEnvelope, answerTo(request, "payload", object{"result": request["request_id"]}))
				var doc object
				require.NoError(t, json.Unmarshal(signed, &doc))
				answers = append(answers, doc)
			}
			for _, name := range members {
				answers[0][name], answers[1][name] = answers[1][name], answers[0][name]
			}
			for _, doc := range answers {
				p.send(edit(raw(`{}`), func(empty object) {
					for name, value := range doc {
						empty[name] = value
					}
				}))
			}
			for _, call := range []*invocation{one, other} {
				_, err := call.wait()
				requireReject(t, err, spoke.CodeInternalError, want)
			}
			requireUsable(t, s, p)
		})
	}
	t.Run("by the request id alone", func(t *testing.T) {
		swapped(t, []string{"request_id"}, map[string]any{"kind": "correlation_mismatch"})
	})
	t.Run("by all that correlates", func(t *testing.T) {
		swapped(t, []string{"request_id", "sequence"}, map[string]any{"kind": "envelope_auth_invalid"})
	})
	t.Run("by the payload", func(t *testing.T) {
		swapped(t, []string{"payload"}, map[string]any{"kind": "envelope_auth_invalid"})
	})
	t.Run("by the payload and its signature", func(t *testing.T) {
		swapped(t, []string{"payload", "signature"}, map[string]any{"kind": "envelope_auth_invalid"})
	})
}

func TestAttackReflection(t *testing.T) {
	t.Run("of a hello at the dialer who sent it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			d.answer(t, d.hello.frame(t))
			<-d.done
			requireCode(t, d.err, connect.CodeHandshakeFailed)
		})
	})

	t.Run("of a responder's hello at the responder who sent it", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, hostID.PeerID()) // hosts that dial each other share a list
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			seen := tap(t, s, dialConfig())
			_, near, err := replayed(t, s, seen.seen.answer)
			requireCode(t, err, connect.CodePeerNotAllowed)
			requireClosed(t, near)
		})
	})

	for _, side := range []string{"app", "host"} {
		t.Run("of a request at the "+side+" that sent it reaches no handler", func(t *testing.T) {
			attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
				seen := tap(t, s, victim(served))
				seen.requests(served) // both have proven themselves
				caller, line := seen.app.Session, seen.toApp
				if side == "host" {
					caller, line = seen.host.Session, seen.toHost
				}
				before := served.n.Load()
				call := start(t.Context(), caller, echoTool)
				seen.put(line, seen.take(line))
				failure := seen.take(line)
				assert.Equal(t, "auth_failed/envelope_auth_invalid", errorOf(docOf(t, failure)))
				assert.Equal(t, before, served.n.Load())

				// What it answered to itself is no answer of the peer's either.
				seen.put(line, failure)
				_, err := call.wait()
				requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "envelope_auth_invalid"})
			})
		})
	}
}

func docOf(t testing.TB, frame []byte) object {
	t.Helper()
	var doc object
	require.NoError(t, json.Unmarshal(frame, &doc))
	return doc
}

func TestAttackSplice(t *testing.T) {
	t.Run("a request of one session in another reaches no handler", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			one, other := tap(t, s, victim(served)), tap(t, s, victim(served))
			call := start(t.Context(), one.app.Session, echoTool)
			frame := one.take(one.toApp)
			other.put(other.toHost, frame)
			assert.Equal(t, "auth_failed/envelope_auth_session_unbound", other.answered(other.toHost))
			assert.Zero(t, served.n.Load())
			one.put(one.toHost, frame)
			one.down()
			_, err := call.wait()
			require.NoError(t, err)
		})
	})

	t.Run("an answer of one session in another settles nothing", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			one, other := tap(t, s, victim(served)), tap(t, s, victim(served))
			first, second := start(t.Context(), one.app.Session, echoTool), start(t.Context(), other.app.Session, echoTool)
			mine := handmadeOf(t, one.up())
			other.up()
			one.take(one.toHost) // the real answer is kept back
			foreign := handmadeOf(t, other.down())
			_, err := second.wait()
			require.NoError(t, err)
			// Signed by the right peer for the same sequence, relabelled to be found.
			one.put(one.toApp, foreign.with("request_id", string(mine["request_id"])).frame(t))
			_, err = first.wait()
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "correlation_mismatch"})
		})
	})

	t.Run("the sessions of two handshakes that are exchanged work in neither", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			one, other := startTap(t, s, victim(served)), startTap(t, s, victim(served))
			for _, j := range []*tapping{one, other} {
				j.up()
				j.down()
			}
			mine, theirs := one.take(one.toHost), other.take(other.toHost)
			one.put(one.toApp, theirs)
			other.put(other.toApp, mine)
			one.finish()
			other.finish()
			call := start(t.Context(), one.app.Session, echoTool)
			one.up()
			assert.Equal(t, "auth_failed/envelope_auth_session_unbound", errorOf(docOf(t, one.down())))
			_, err := call.wait()
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "correlation_mismatch"})
			assert.Zero(t, served.n.Load())
		})
	})

	t.Run("the session of another app is refused", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			seen := tap(t, s, dialAs(strangerID))
			j := startTap(t, s, dialConfig())
			j.up()
			j.down()
			j.take(j.toHost)
			j.put(j.toApp, seen.seen.session)
			requireCode(t, <-j.dialed, connect.CodeInvalidSession)
			<-j.accepted
		})
	})
}

func TestAttackDowngrade(t *testing.T) {
	weaken := map[string]struct {
		change     func(t *testing.T, m handmade) handmade
		atHost     string // the code, "" where the change is not of the dialer's hello
		atDialer   string // of the responder's hello
		forSession string // of the session
	}{
		"an older version": {
			func(_ *testing.T, m handmade) handmade { return m.with("protocol_version", "0") },
			connect.CodeVersionMismatch, connect.CodeVersionMismatch, spoke.KindEnvelopeAuthInvalid,
		},
		"no signature": {
			func(_ *testing.T, m handmade) handmade { return m.without("signature") },
			connect.CodeHelloSignature, connect.CodeHelloSignature, spoke.KindEnvelopeAuthMissing,
		},
		"fewer capabilities": {
			func(t *testing.T, m handmade) handmade {
				host := handmadeOf(t, m["host"]).with("capabilities", `["spoke-baseline"]`)
				return m.with("host", string(host.frame(t)))
			},
			connect.CodeHelloSignature, connect.CodeHelloSignature, "",
		},
		"no nonce of ours": {
			func(_ *testing.T, m handmade) handmade { return m.without("peer_nonce") },
			"", connect.CodeHandshakeFailed, "",
		},
		"more capabilities than were negotiated": {
			func(_ *testing.T, m handmade) handmade {
				return m.with("negotiated_capabilities", `["spoke-baseline","l5-fork"]`)
			},
			"", "", spoke.KindEnvelopeAuthInvalid,
		},
		"a later first sequence": {
			func(_ *testing.T, m handmade) handmade { return m.with("initial_sequence", "5") },
			"", "", spoke.KindEnvelopeAuthInvalid,
		},
	}
	for name, c := range weaken {
		if c.atHost != "" {
			t.Run(name+" in the dialer's hello", func(t *testing.T) {
				attacked(t, func(t *testing.T, s *connect.Server, _ *runs) {
					_, near, err := replayed(t, s, c.change(t, appHello(t)).frame(t))
					requireCode(t, err, c.atHost)
					requireClosed(t, near)
				})
			})
		}
		if c.atDialer != "" {
			t.Run(name+" in the responder's hello", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					requireDialRefuses(t, dialConfig(), c.atDialer, func(nonce string) [][]byte {
						return [][]byte{c.change(t, hostHello(t, nonce)).frame(t), hostSession(t).frame(t)}
					})
				})
			})
		}
		if c.forSession != "" {
			t.Run(name+" in the session", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					requireDialRefuses(t, dialConfig(), c.forSession, func(nonce string) [][]byte {
						return [][]byte{hostHello(t, nonce).frame(t), c.change(t, hostSession(t)).frame(t)}
					})
				})
			})
		}
	}

	t.Run("a responder's hello that never knew our nonce is refused, although it is signed", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireDialRefuses(t, dialConfig(), connect.CodeHandshakeFailed, func(string) [][]byte {
				dialers := plainHello(hostID, hostNonce, "").signed(t, hostID, connect.HelloEnvelope)
				return [][]byte{dialers.frame(t), hostSession(t).frame(t)}
			})
		})
	})
}

// malleate returns other texts of a signature that a lax reader takes for the same.
func malleate(t testing.TB, signature string) map[string]string {
	t.Helper()
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	require.NoError(t, err)
	order, ok := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	require.True(t, ok)
	s := slices.Clone(sig[32:])
	slices.Reverse(s) // little-endian
	more := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(more)
	last := signature[len(signature)-1]
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	sibling := alphabet[bytes.IndexByte([]byte(alphabet), last)^1] // differs in a bit that is dropped
	return map[string]string{
		"S plus the order of the group": base64.RawURLEncoding.EncodeToString(append(slices.Clone(sig[:32]), more...)),
		"bits behind the last byte":     signature[:len(signature)-1] + string(sibling),
		"padding":                       base64.URLEncoding.EncodeToString(sig),
		"a line break":                  signature[:40] + "\n" + signature[40:],
		"bytes behind it":               base64.RawURLEncoding.EncodeToString(append(slices.Clone(sig), 0)),
	}
}

func TestAttackSignatureMalleability(t *testing.T) {
	hello := func(t *testing.T) handmade { return appHello(t) }
	for name := range malleate(t, hello(t).text(t, "signature")) {
		t.Run(name+" on a hello", func(t *testing.T) {
			attacked(t, func(t *testing.T, s *connect.Server, _ *runs) {
				m := hello(t)
				_, _, err := replayed(t, s, m.with("signature", quoted(malleate(t, m.text(t, "signature"))[name])).frame(t))
				requireCode(t, err, connect.CodeHelloSignature)
			})
		})
		t.Run(name+" on a request and on an answer", func(t *testing.T) {
			eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				another := func(frame json.RawMessage) json.RawMessage {
					m := handmadeOf(t, frame)
					return m.with("signature", quoted(malleate(t, m.text(t, "signature"))[name])).frame(t)
				}
				p.send(another(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool))))
				assert.Equal(t, "auth_failed/envelope_auth_invalid", errorOf(p.recv()))
				call := start(t.Context(), s, otherTool)
				p.send(another(p.sign(connect.ResponseEnvelope, answerTo(p.recv(), "payload", object{"result": 1}))))
				_, err := call.wait()
				requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "envelope_auth_invalid"})
			})
		})
	}
}

func TestAttackKeyConfusion(t *testing.T) {
	t.Run("a key under another peer's id is a mistake of the configuration", func(t *testing.T) {
		cfg := serverConfig()
		cfg.PeerKeys = keysOf(appID.PeerID(), strangerID)
		_, err := connect.NewServer(cfg)
		require.ErrorContains(t, err, "does not belong to that id")
		near, _ := connect.Pipe()
		_, err = connect.Accept(t.Context(), near, func() connect.ResponderConfig {
			respond := responderConfig()
			respond.PeerKeys = keysOf(appID.PeerID(), strangerID)
			return respond
		}())
		requireCode(t, err, connect.CodeInvalidConfig)
	})

	t.Run("nor is one accepted while a server runs", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, _ *runs) {
			require.Error(t, s.AllowKey(appID.PeerID(), strangerID.PublicKey()))
			require.Error(t, s.SetAllow([]connect.PeerID{appID.PeerID()}, keysOf(appID.PeerID(), strangerID)))
			forged := plainHello(appID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
			_, _, err := replayed(t, s, forged.frame(t))
			requireCode(t, err, connect.CodeHelloSignature)
		})
	})

	t.Run("a hello is verified by the key of the id that is expected", func(t *testing.T) {
		m := plainHello(strangerID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
		for name, check := range map[string]connect.HelloCheck{
			"another peer's key": {Peer: appID.PeerID(), Key: strangerID.PublicKey()},
			"another peer's id":  {Peer: strangerID.PeerID(), Key: appID.PublicKey()},
			"another peer":       {Peer: appID.PeerID(), Key: appID.PublicKey()},
		} {
			requireCode(t, connect.VerifyHello(m.frame(t), check), connect.CodeHandshakeFailed)
			_ = name
		}
	})

	t.Run("an allowed peer cannot speak for another", func(t *testing.T) {
		cfg := serverConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		serving(t, cfg, func(t *testing.T, s *connect.Server) {
			forged := plainHello(appID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
			_, _, err := replayed(t, s, forged.frame(t))
			requireCode(t, err, connect.CodeHelloSignature)
		})
	})

	t.Run("a dialed id and a key that differ are a mistake of the configuration", func(t *testing.T) {
		near, _ := connect.Pipe()
		cfg := dialConfig()
		cfg.Allow = append(cfg.Allow, strangerID.PeerID())
		cfg.RemoteKey = strangerID.PublicKey()
		_, err := connect.Dial(t.Context(), near, cfg)
		requireCode(t, err, connect.CodeInvalidConfig)
	})
}

func TestAttackUnsignedExtensions(t *testing.T) {
	const smuggled = `{"session_id":"x","sequence":9,"op":"tools.test.other","payload":{"arguments":{"n":2}},` +
		`"auth":{"v":1},"error":{"code":"INTERNAL_ERROR","message":"no"},"peer_id":"x","host":{"capabilities":[]}}`

	t.Run("change nothing about a handshake", func(t *testing.T) {
		attacked(t, func(t *testing.T, s *connect.Server, served *runs) {
			j := startTap(t, s, victim(served))
			for _, way := range [][2]connect.Transport{
				{j.toApp, j.toHost}, {j.toHost, j.toApp}, {j.toHost, j.toApp},
			} {
				j.put(way[1], handmadeOf(t, j.take(way[0])).with("extensions", smuggled).frame(t))
			}
			j.finish()
			assert.Equal(t, j.host.ID(), j.app.ID())
			assert.Equal(t, appID.PeerID(), j.host.RemotePeerID())
			assert.Contains(t, j.host.NegotiatedCapabilities(), echoTool)
		})
	})

	t.Run("change nothing about a request or its answer", func(t *testing.T) {
		eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
			p.send(edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(d object) { d["extensions"] = raw(smuggled) }))
			p.sequence++
			assert.Equal(t, object{"result": object{"n": 1.0}}, p.recv()["payload"])
			call := start(t.Context(), s, otherTool)
			p.send(edit(p.sign(connect.ResponseEnvelope, answerTo(p.recv(), "payload", object{"result": 1})),
				func(d object) { d["extensions"] = raw(smuggled) }))
			value, err := call.wait()
			require.NoError(t, err)
			assert.Equal(t, "1", string(value))
		})
	})

	t.Run("and members beside them refuse the envelope", func(t *testing.T) {
		eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
			for _, name := range []string{"auth", "extension", "host", "Payload", "trace"} {
				p.send(edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(d object) { d[name] = object{} }))
				assert.Equal(t, "auth_failed/envelope_auth_invalid", errorOf(p.recv()), name)
			}
			for _, name := range []string{"auth", "error", "trace"} {
				call := start(t.Context(), s, otherTool)
				p.send(edit(p.sign(connect.ResponseEnvelope, answerTo(p.recv(), "payload", object{"result": 1})), func(d object) { d[name] = object{} }))
				_, err := call.wait()
				assert.Equal(t, spoke.KindEnvelopeAuthInvalid, spoke.KindOf(err), name)
			}
		})
		attacked(t, func(t *testing.T, s *connect.Server, _ *runs) {
			_, _, err := replayed(t, s, appHello(t).with("trace", "{}").frame(t))
			requireCode(t, err, connect.CodeHelloSignature)
		})
	})

	t.Run("a second member of a name ends the session", func(t *testing.T) {
		for _, twice := range []string{`"payload":{"arguments":{"n":2}},`, `"extensions":{},`, `"signature":"x",`} {
			eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				frame := p.sign(connect.RequestEnvelope, p.toolRequest(echoTool))
				p.send(append([]byte("{"+twice), frame[1:]...))
				assert.ErrorIs(t, s.Wait(), connect.ErrMalformedFrame)
			})
		}
	})
}

func TestAttackOverload(t *testing.T) {
	cfg := serverConfig()
	cfg.Limits.Handlers = 2
	release := make(chan struct{})
	serving(t, cfg, func(t *testing.T, s *connect.Server) {
		release = make(chan struct{})
		l := joined(t, s, dialConfig())
		require.NoError(t, l.host.RegisterToolHandler(otherTool, held(release)))
		ctx := connect.WithInvokeTimeout(context.Background(), -1)
		running := []*invocation{start(ctx, l.app.Session, otherTool), start(ctx, l.app.Session, otherTool)}
		synctest.Wait()
		for range 200 {
			_, err := l.app.InvokeTool(t.Context(), otherTool, nil)
			requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "overloaded"})
		}
		close(release)
		for _, call := range running {
			_, err := call.wait()
			require.NoError(t, err)
		}
	})
}
