package connect_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// handmade is an envelope as a hostile peer writes it: the JSON text of each member.
type handmade map[string]json.RawMessage

// with returns a copy in which a member has another value, given as JSON text.
func (m handmade) with(name, value string) handmade {
	c := maps.Clone(m)
	c[name] = json.RawMessage(value)
	return c
}

func (m handmade) without(name string) handmade {
	c := maps.Clone(m)
	delete(c, name)
	return c
}

// signed returns the envelope as id signs it. Later changes break the signature.
func (m handmade) signed(t testing.TB, id *connect.Identity, kind connect.EnvelopeKind) handmade {
	t.Helper()
	frame, err := id.SignEnvelope(kind, m.frame(t))
	require.NoError(t, err)
	return handmadeOf(t, frame)
}

func (m handmade) frame(t testing.TB) []byte {
	t.Helper()
	frame, err := json.Marshal(m)
	require.NoError(t, err)
	return frame
}

func (m handmade) text(t testing.TB, name string) string {
	t.Helper()
	var text string
	require.NoError(t, json.Unmarshal(m[name], &text))
	return text
}

func handmadeOf(t testing.TB, frame []byte) handmade {
	t.Helper()
	var m handmade
	require.NoError(t, json.Unmarshal(frame, &m))
	return m
}

func quoted[T ~string](text T) string {
	quotedText, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quotedText)
}

func manifestText(m spoke.HostCapabilityManifest) string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	appNonce  = "the app's nonce, any text"
	hostNonce = "the host's nonce, any text"
)

// plainHello is an unsigned hello that nothing is wrong with; an empty peerNonce makes
// a dialer's.
func plainHello(id *connect.Identity, nonce, peerNonce string) handmade {
	m := handmade{
		"protocol_version": raw("1"),
		"peer_id":          raw("%s", quoted(id.PeerID())),
		"nonce":            raw("%s", quoted(nonce)),
		"host":             raw("%s", manifestText(testManifest("label", echoTool, otherTool))),
	}
	if peerNonce != "" {
		m = m.with("peer_nonce", quoted(peerNonce))
	}
	return m
}

func appHello(t testing.TB) handmade {
	return plainHello(appID, appNonce, "").signed(t, appID, connect.HelloEnvelope)
}

func hostHello(t testing.TB, peerNonce string) handmade {
	return plainHello(hostID, hostNonce, peerNonce).signed(t, hostID, connect.HelloEnvelope)
}

// plainSession is an unsigned session between the two that nothing is wrong with.
func plainSession() handmade {
	return handmade{
		"session_id":              raw(`"some session"`),
		"initiator_peer_id":       raw("%s", quoted(appID.PeerID())),
		"responder_peer_id":       raw("%s", quoted(hostID.PeerID())),
		"opened_at":               raw(`"2030-01-02T03:04:05.678Z"`),
		"negotiated_capabilities": raw(`["spoke-baseline"]`),
		"initial_sequence":        raw("0"),
	}
}

func hostSession(t testing.TB) handmade {
	return plainSession().signed(t, hostID, connect.SessionEnvelope)
}

// acceptFrames runs a responder on the frames of a hand-made dialer; far is the
// dialer's end.
func acceptFrames(t testing.TB, cfg connect.ResponderConfig, frames ...[]byte) (r *connect.Responder, far connect.Transport, err error) {
	t.Helper()
	near, far := connect.Pipe()
	for _, frame := range frames {
		require.NoError(t, far.Send(t.Context(), frame))
	}
	r, err = connect.Accept(t.Context(), near, cfg)
	return r, far, err
}

// requireRefused runs a responder on one frame and asserts that the frame is refused
// with code, that nothing was sent back and that the transport is closed.
func requireRefused(t testing.TB, cfg connect.ResponderConfig, frame []byte, code string) *connect.HandshakeError {
	t.Helper()
	r, far, err := acceptFrames(t, cfg, frame)
	require.Nil(t, r)
	requireClosed(t, far)
	return requireCode(t, err, code)
}

// requireAccepted runs a responder on one frame and asserts that it opens a session,
// which f gets along with the dialer's end.
func requireAccepted(t testing.TB, cfg connect.ResponderConfig, frame []byte, f func(r *connect.Responder, far connect.Transport)) {
	t.Helper()
	r, far, err := acceptFrames(t, cfg, frame)
	require.NoError(t, err)
	defer r.Wait()
	defer r.Close()
	f(r, far)
}

func ignoreSession(*connect.Responder, connect.Transport) {}

// requireClosed asserts that nothing more comes from the other end and that it is
// closed.
func requireClosed(t testing.TB, far connect.Transport) {
	t.Helper()
	frame, err := far.Recv(t.Context())
	require.ErrorIs(t, err, io.EOF, "got %s", frame)
	require.Error(t, far.Send(t.Context(), []byte("{}")))
}

func requireCode(t testing.TB, err error, code string) *connect.HandshakeError {
	t.Helper()
	var failure *connect.HandshakeError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, code, failure.Code, "%v", err)
	require.Error(t, failure.Err)
	return failure
}

// dialing is a Dial under way, seen from a hand-made responder.
type dialing struct {
	far   connect.Transport
	hello handmade // the dialer's
	nonce string   // the dialer's

	done chan struct{}
	app  *connect.RemoteAdapter
	err  error
}

func startDial(t testing.TB, ctx context.Context, cfg connect.DialConfig) *dialing {
	t.Helper()
	near, far := connect.Pipe()
	d := &dialing{far: far, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.app, d.err = connect.Dial(ctx, near, cfg)
	}()
	frame, err := far.Recv(t.Context())
	require.NoError(t, err)
	d.hello = handmadeOf(t, frame)
	d.nonce = d.hello.text(t, "nonce")
	return d
}

// answer sends frames; a dialer that has closed the transport does not get them all.
func (d *dialing) answer(t testing.TB, frames ...[]byte) {
	t.Helper()
	for _, frame := range frames {
		if err := d.far.Send(t.Context(), frame); err != nil {
			require.ErrorIs(t, err, io.ErrClosedPipe)
		}
	}
}

// requireDialRefuses dials a hand-made responder and asserts that its frames are
// refused with code and that the transport is closed.
func requireDialRefuses(t testing.TB, cfg connect.DialConfig, code string, frames func(nonce string) [][]byte) *connect.HandshakeError {
	t.Helper()
	d := startDial(t, t.Context(), cfg)
	d.answer(t, frames(d.nonce)...)
	<-d.done
	require.Nil(t, d.app)
	requireClosed(t, d.far)
	return requireCode(t, d.err, code)
}

// requireDialAccepts is the opposite; f gets the session.
func requireDialAccepts(t testing.TB, cfg connect.DialConfig, frames func(nonce string) [][]byte, f func(*connect.RemoteAdapter)) {
	t.Helper()
	d := startDial(t, t.Context(), cfg)
	d.answer(t, frames(d.nonce)...)
	<-d.done
	require.NoError(t, d.err)
	defer d.app.Wait()
	defer d.app.Close()
	f(d.app)
}

// inBubbles runs each case in a bubble of its own.
func inBubbles[C any](t *testing.T, cases map[string]C, f func(t *testing.T, c C)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { f(t, c) })
		})
	}
}

func TestTheHandshakeOnTheWire(t *testing.T) {
	t.Run("a dialer's hello is signed and carries no peer nonce", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			require.NoError(t, connect.VerifyHello(d.hello.frame(t), connect.HelloCheck{
				Peer: appID.PeerID(), Key: appID.PublicKey(), Role: connect.InitiatorRole,
			}))
			assert.NotContains(t, d.hello, "peer_nonce")
			assert.Equal(t, "1", string(d.hello["protocol_version"]))
			assert.Equal(t, "{}", string(d.hello["extensions"]))
			assert.Len(t, d.nonce, 22)
			assert.JSONEq(t, manifestText(dialConfig().Manifest), string(d.hello["host"]))
			d.far.Close()
			<-d.done
			requireCode(t, d.err, connect.CodeTransport)
		})
	})

	t.Run("a responder answers the nonce and opens a session of its own making", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireAccepted(t, responderConfig(), appHello(t).frame(t), func(r *connect.Responder, far connect.Transport) {
				hello, err := far.Recv(t.Context())
				require.NoError(t, err)
				require.NoError(t, connect.VerifyHello(hello, connect.HelloCheck{
					Peer: hostID.PeerID(), Key: hostID.PublicKey(), Role: connect.ResponderRole, Nonce: appNonce,
				}))
				frame, err := far.Recv(t.Context())
				require.NoError(t, err)
				require.NoError(t, connect.VerifyEnvelope(connect.SessionEnvelope, frame, hostID.PublicKey(), r.ID()))
				session := handmadeOf(t, frame)
				assert.Equal(t, "0", string(session["initial_sequence"]))
				assert.Equal(t, "{}", string(session["extensions"]))
				assert.Equal(t, string(appID.PeerID()), session.text(t, "initiator_peer_id"))
				assert.Equal(t, string(hostID.PeerID()), session.text(t, "responder_peer_id"))
				assert.Equal(t, r.OpenedAt().Format(time.RFC3339Nano), session.text(t, "opened_at"))
				assert.Equal(t, time.UTC, r.OpenedAt().Location())
				assert.Equal(t, uuid.Version(4), uuid.MustParse(r.ID()).Version())
			})
		})
	})

	t.Run("nonces and session ids are fresh for every session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			respond, seen := responderConfig(), map[string]bool{}
			for range 20 {
				l := connectPair(t, dialConfig(), respond)
				seen[l.app.ID()] = true
				l.close()
			}
			assert.Len(t, seen, 20)
		})
	})

	t.Run("both sides see the same session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			l := connectPair(t, dialConfig(), responderConfig())
			defer l.close()
			assert.True(t, l.app.IsInitiator())
			assert.False(t, l.host.IsInitiator())
			assert.Equal(t, l.app.ID(), l.host.ID())
			assert.True(t, l.app.OpenedAt().Equal(l.host.OpenedAt()))
			assert.Equal(t, hostID.PeerID(), l.app.RemotePeerID())
			assert.Equal(t, appID.PeerID(), l.host.RemotePeerID())
			assert.Equal(t, appID.PeerID(), l.app.LocalPeerID())
			assert.Empty(t, l.app.RemoteManifestProblems())
			assert.JSONEq(t, manifestText(dialConfig().Manifest), string(l.host.RemoteManifestJSON()))
		})
	})
}

// TestResponderAllowlist is the first gate: who is not allowed is refused before
// anything else of the hello is looked at.
func TestResponderAllowlist(t *testing.T) {
	nobody := responderConfig()
	nobody.Allow = nil
	stranger := plainHello(strangerID, appNonce, "")
	signed := func(t *testing.T) handmade { return stranger.signed(t, strangerID, connect.HelloEnvelope) }

	type refusal struct {
		cfg   connect.ResponderConfig
		hello func(t *testing.T) handmade
	}
	inBubbles(t, map[string]refusal{
		"an empty allowlist admits nobody":             {nobody, func(t *testing.T) handmade { return appHello(t) }},
		"a stranger is refused, however well it signs": {responderConfig(), signed},
		"a stranger's signature is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("signature", `"garbage"`)
		}},
		"a stranger's version is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("protocol_version", `"seven"`)
		}},
		"a stranger's nonce is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("nonce", "7")
		}},
		"a stranger's manifest is not looked at": {responderConfig(), func(t *testing.T) handmade {
			return signed(t).with("host", "null")
		}},
		"a stranger may send nothing but its id": {responderConfig(), func(*testing.T) handmade {
			return handmade{"peer_id": stranger["peer_id"]}
		}},
		"a hello without a peer id is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).without("peer_id")
		}},
		"a peer id that is no string is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).with("peer_id", `["`+string(appID.PeerID())+`"]`)
		}},
		"a peer id that is very long is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).with("peer_id", quoted(strings.Repeat("1", 100_000)))
		}},
		"a peer id with a space is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return appHello(t).with("peer_id", quoted(appID.PeerID()+" "))
		}},
		"the responder's own id is a stranger's": {responderConfig(), func(t *testing.T) handmade {
			return plainHello(hostID, appNonce, "").signed(t, hostID, connect.HelloEnvelope)
		}},
	}, func(t *testing.T, c refusal) {
		var asked atomic.Int32
		c.cfg.Nonces = nonceFunc(func(connect.PeerID, string) (bool, error) {
			asked.Add(1)
			return true, nil
		})
		failure := requireRefused(t, c.cfg, c.hello(t).frame(t), connect.CodePeerNotAllowed)
		assert.Equal(t, connect.HandshakeFailed, failure.Kind)
		assert.Zero(t, asked.Load(), "the nonce store was asked")
	})

	t.Run("an explicit key of the peer's is used", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.PeerKeys = map[connect.PeerID]ed25519.PublicKey{appID.PeerID(): appID.PublicKey()}
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			cfg.Allow = nil
			requireRefused(t, cfg, appHello(t).frame(t), connect.CodePeerNotAllowed)
		})
	})
}

// nonceFunc is a NonceStore.
type nonceFunc func(peer connect.PeerID, nonce string) (bool, error)

func (f nonceFunc) Accept(peer connect.PeerID, nonce string) (bool, error) { return f(peer, nonce) }

func replayedNonce(connect.PeerID, string) (bool, error) { return false, nil }

// helloChange is one way to change a hello; no code means that it is accepted still.
type helloChange struct {
	code   string
	before func(handmade) handmade // signing
	after  func(handmade) handmade
}

func setMember(name, value string) func(handmade) handmade {
	return func(m handmade) handmade { return m.with(name, value) }
}

func dropMember(name string) func(handmade) handmade {
	return func(m handmade) handmade { return m.without(name) }
}

func (c helloChange) apply(t testing.TB, plain handmade, id *connect.Identity, kind connect.EnvelopeKind) handmade {
	t.Helper()
	if c.before != nil {
		plain = c.before(plain)
	}
	m := plain.signed(t, id, kind)
	if c.after != nil {
		m = c.after(m)
	}
	return m
}

// helloChanges are changes to a member that both roles judge alike.
var helloChanges = map[string]helloChange{
	"an unchanged hello is accepted": {},

	"version 1.0 is version 1":            {after: setMember("protocol_version", "1.0")},
	"version 10e-1 is version 1":          {after: setMember("protocol_version", "10e-1")},
	"version 0 is another one":            {connect.CodeVersionMismatch, setMember("protocol_version", "0"), nil},
	"version 2 is another one":            {connect.CodeVersionMismatch, setMember("protocol_version", "2"), nil},
	"version -1 is another one":           {connect.CodeVersionMismatch, setMember("protocol_version", "-1"), nil},
	"version 1.5 is another one":          {connect.CodeVersionMismatch, setMember("protocol_version", "1.5"), nil},
	"version 1e300 is another one":        {connect.CodeVersionMismatch, setMember("protocol_version", "1e300"), nil},
	"a version that is text is none":      {connect.CodeVersionMismatch, setMember("protocol_version", `"1"`), nil},
	"a version that is true is none":      {connect.CodeVersionMismatch, setMember("protocol_version", "true"), nil},
	"a version that is null is none":      {connect.CodeVersionMismatch, setMember("protocol_version", "null"), nil},
	"a version that is a list is none":    {connect.CodeVersionMismatch, setMember("protocol_version", "[1]"), nil},
	"a version that is missing is none":   {connect.CodeVersionMismatch, nil, dropMember("protocol_version")},
	"a version is judged before the rest": {connect.CodeVersionMismatch, setMember("protocol_version", "2"), setMember("signature", `""`)},

	"a nonce of 15 characters is too short":         {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("n", 15))), nil},
	"a nonce of 16 characters is accepted":          {before: setMember("nonce", quoted(strings.Repeat("n", 16)))},
	"a nonce of 128 characters is accepted":         {before: setMember("nonce", quoted(strings.Repeat("n", 128)))},
	"a nonce of 129 characters is too long":         {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("n", 129))), nil},
	"a nonce of 8 astral characters has 16 units":   {before: setMember("nonce", quoted(strings.Repeat("🎲", 8)))},
	"a nonce of 15 units is too short":              {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("🎲", 7)+"n")), nil},
	"a nonce of 64 astral characters has 128 units": {before: setMember("nonce", quoted(strings.Repeat("🎲", 64)))},
	"a nonce of 129 units is too long":              {connect.CodeInvalidNonce, setMember("nonce", quoted(strings.Repeat("🎲", 64)+"n")), nil},
	"an escaped nonce counts what it means":         {connect.CodeInvalidNonce, nil, setMember("nonce", `"`+strings.Repeat(`\u006e`, 15)+`"`)},
	"a nonce that is a number is none":              {connect.CodeInvalidNonce, setMember("nonce", "12345678901234567890"), nil},
	"a nonce that is null is none":                  {connect.CodeInvalidNonce, setMember("nonce", "null"), nil},
	"a nonce that is a list is none":                {connect.CodeInvalidNonce, setMember("nonce", `["nnnnnnnnnnnnnnnnnnnn"]`), nil},
	"a nonce that is missing is none":               {connect.CodeInvalidNonce, nil, dropMember("nonce")},

	"a peer nonce that is null is no nonce":      {connect.CodeInvalidNonce, nil, setMember("peer_nonce", "null")},
	"a peer nonce that is short is no nonce":     {connect.CodeInvalidNonce, nil, setMember("peer_nonce", `"nnnnnnnnnnnnnnn"`)},
	"a peer nonce that is long is no nonce":      {connect.CodeInvalidNonce, nil, setMember("peer_nonce", quoted(strings.Repeat("n", 129)))},
	"a peer nonce that is a number is no nonce":  {connect.CodeInvalidNonce, nil, setMember("peer_nonce", "12345678901234567890")},
	"a peer nonce that is an object is no nonce": {connect.CodeInvalidNonce, nil, setMember("peer_nonce", "{}")},

	"a host that changed after signing is noticed": {connect.CodeHelloSignature, nil, setMember("host", `{"host_id":"another"}`)},
	"a nonce that changed after signing is noticed": {
		connect.CodeHelloSignature, nil, setMember("nonce", `"another nonce of the peer's"`)},
	"a missing signature is noticed":         {connect.CodeHelloSignature, nil, dropMember("signature")},
	"an empty signature is noticed":          {connect.CodeHelloSignature, nil, setMember("signature", `""`)},
	"a signature that is null is noticed":    {connect.CodeHelloSignature, nil, setMember("signature", "null")},
	"a signature that is a list is noticed":  {connect.CodeHelloSignature, nil, setMember("signature", "[]")},
	"a signature that is garbage is noticed": {connect.CodeHelloSignature, nil, setMember("signature", `"!"`)},
	"a signature of 86 zeros is noticed":     {connect.CodeHelloSignature, nil, setMember("signature", quoted(strings.Repeat("A", 86)))},
	"a signature of 63 bytes is noticed": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		return m.with("signature", string(m["signature"][:85])+`"`)
	}},
	"a signature with padding is not canonical": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		return m.with("signature", strings.TrimSuffix(string(m["signature"]), `"`)+`=="`)
	}},
	"a signature with a line end is not canonical": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		return m.with("signature", strings.TrimSuffix(string(m["signature"]), `"`)+`\n"`)
	}},
	"a signature with stray bits is not canonical": {connect.CodeHelloSignature, nil, func(m handmade) handmade {
		text := bytes.Clone(m["signature"])
		text[len(text)-2]++ // the last digit carries two bits, and zeros
		return m.with("signature", string(text))
	}},
	"an escape in the signature is only another spelling": {after: func(m handmade) handmade {
		text := string(m["signature"])
		return m.with("signature", `"\u00`+hexOf(text[1])+text[2:])
	}},

	"an unknown member is refused":             {connect.CodeHelloSignature, nil, setMember("x", "1")},
	"a member of another envelope is refused":  {connect.CodeHelloSignature, nil, setMember("auth", "null")},
	"a member that differs in case is refused": {connect.CodeHelloSignature, nil, setMember("Host", "{}")},
	"an empty member name is refused":          {connect.CodeHelloSignature, nil, setMember("", "1")},
	"extensions may be missing":                {after: dropMember("extensions")},
	"extensions are not signed":                {after: setMember("extensions", `{"a":{"b":1}}`)},

	"a missing host is noticed":         {connect.CodeHelloSignature, nil, dropMember("host")},
	"a host that is null is no host":    {connect.CodeHandshakeFailed, setMember("host", "null"), nil},
	"a host that is a list is no host":  {connect.CodeHandshakeFailed, setMember("host", "[{}]"), nil},
	"a host that is text is no host":    {connect.CodeHandshakeFailed, setMember("host", `"{}"`), nil},
	"a host that is a number is none":   {connect.CodeHandshakeFailed, setMember("host", "1"), nil},
	"a host without members is a host":  {before: setMember("host", "{}")},
	"numbers of the host are canonical": {before: setMember("host", `{"schema_version":1}`), after: setMember("host", `{"schema_version":1.00}`)},
}

func hexOf(c byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{digits[c>>4], digits[c&15]})
}

func TestResponderJudgesTheHello(t *testing.T) {
	changes := maps.Clone(helloChanges)
	maps.Copy(changes, map[string]helloChange{
		"a dialer's hello with a peer nonce is refused": {connect.CodeHandshakeFailed, setMember("peer_nonce", quoted(hostNonce)), nil},
		"a peer nonce is not smuggled in unsigned":      {connect.CodeHandshakeFailed, nil, setMember("peer_nonce", quoted(hostNonce))},
		"a peer nonce that was signed cannot be dropped": {
			connect.CodeHelloSignature, setMember("peer_nonce", quoted(hostNonce)), dropMember("peer_nonce")},
	})
	inBubbles(t, changes, func(t *testing.T, c helloChange) {
		frame := c.apply(t, plainHello(appID, appNonce, ""), appID, connect.HelloEnvelope).frame(t)
		if c.code == "" {
			requireAccepted(t, responderConfig(), frame, ignoreSession)
			return
		}
		failure := requireRefused(t, responderConfig(), frame, c.code)
		assert.Equal(t, appID.PeerID(), failure.Peer)
	})

	t.Run("a hello that another key signed is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hello := plainHello(appID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
			requireRefused(t, responderConfig(), hello.frame(t), connect.CodeHelloSignature)
		})
	})

	t.Run("an allowed peer cannot send the hello of another allowed peer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Allow = append(cfg.Allow, strangerID.PeerID())
			hello := appHello(t).with("peer_id", quoted(strangerID.PeerID()))
			requireRefused(t, cfg, hello.frame(t), connect.CodeHelloSignature)
		})
	})
}

func TestDialerJudgesTheHello(t *testing.T) {
	changes := maps.Clone(helloChanges)
	maps.Copy(changes, map[string]helloChange{
		"a hello without our nonce is refused":       {connect.CodeHandshakeFailed, dropMember("peer_nonce"), nil},
		"our nonce cannot be dropped after signing":  {connect.CodeHandshakeFailed, nil, dropMember("peer_nonce")},
		"a hello that answers another is refused":    {connect.CodeHandshakeFailed, setMember("peer_nonce", quoted(appNonce)), nil},
		"a hello that answers itself is refused":     {connect.CodeHandshakeFailed, setMember("peer_nonce", quoted(hostNonce)), nil},
		"a hello that claims another id is refused":  {connect.CodeHandshakeFailed, setMember("peer_id", quoted(strangerID.PeerID())), nil},
		"a hello that claims our own id is refused":  {connect.CodeHandshakeFailed, setMember("peer_id", quoted(appID.PeerID())), nil},
		"a hello that claims no id is refused":       {connect.CodeHandshakeFailed, nil, dropMember("peer_id")},
		"a hello whose id is no string is refused":   {connect.CodeHandshakeFailed, setMember("peer_id", "{}"), nil},
		"a nonce equal to our own is not a failure":  {before: func(m handmade) handmade { return m.with("nonce", string(m["peer_nonce"])) }},
		"our nonce may be spelled with escapes":      {after: func(m handmade) handmade { return m.with("peer_nonce", escaped(m["peer_nonce"])) }},
		"our nonce in another case is not our nonce": {connect.CodeHandshakeFailed, func(m handmade) handmade { return m.with("peer_nonce", swapCase(m["peer_nonce"])) }, nil},
	})
	inBubbles(t, changes, func(t *testing.T, c helloChange) {
		frames := func(nonce string) [][]byte {
			hello := c.apply(t, plainHello(hostID, hostNonce, nonce), hostID, connect.HelloEnvelope)
			return [][]byte{hello.frame(t), hostSession(t).frame(t)}
		}
		if c.code == "" {
			requireDialAccepts(t, dialConfig(), frames, func(*connect.RemoteAdapter) {})
			return
		}
		failure := requireDialRefuses(t, dialConfig(), c.code, frames)
		assert.Equal(t, hostID.PeerID(), failure.Peer)
	})

	t.Run("a hello that another key signed is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireDialRefuses(t, dialConfig(), connect.CodeHelloSignature, func(nonce string) [][]byte {
				return [][]byte{plainHello(hostID, hostNonce, nonce).signed(t, strangerID, connect.HelloEnvelope).frame(t)}
			})
		})
	})

	t.Run("another allowed peer cannot answer in place of the dialed one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := dialConfig()
			cfg.Allow = append(cfg.Allow, strangerID.PeerID())
			requireDialRefuses(t, cfg, connect.CodeHandshakeFailed, func(nonce string) [][]byte {
				return [][]byte{plainHello(strangerID, hostNonce, nonce).signed(t, strangerID, connect.HelloEnvelope).frame(t)}
			})
		})
	})

	t.Run("the dialer's own hello played back is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			d.answer(t, d.hello.frame(t))
			<-d.done
			requireCode(t, d.err, connect.CodeHandshakeFailed)
		})
	})
}

// escaped spells a string with escapes.
func escaped(text json.RawMessage) string {
	var b strings.Builder
	for _, c := range text[1 : len(text)-1] {
		b.WriteString(`\u00` + hexOf(c))
	}
	return `"` + b.String() + `"`
}

func swapCase(text json.RawMessage) string {
	for i, c := range text {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			swapped := bytes.Clone(text)
			swapped[i] ^= 0x20
			return string(swapped)
		}
	}
	panic("no letter")
}

// TestHelloCheckOfTheKey is the gate that Dial and Accept close by their configuration:
// the key to verify by must be the expected peer's.
func TestHelloCheckOfTheKey(t *testing.T) {
	good := connect.HelloCheck{Peer: appID.PeerID(), Key: appID.PublicKey()}
	hello := appHello(t)
	require.NoError(t, connect.VerifyHello(hello.frame(t), good))

	check := good
	check.Key = hostID.PublicKey()
	requireCode(t, connect.VerifyHello(hello.frame(t), check), connect.CodeHandshakeFailed)
	requireCode(t, connect.VerifyHello(hello.with("nonce", "0").frame(t), check), connect.CodeInvalidNonce)
	check.Key = nil
	requireCode(t, connect.VerifyHello(hello.frame(t), check), connect.CodeHandshakeFailed)
	check = connect.HelloCheck{Peer: hostID.PeerID(), Key: hostID.PublicKey()}
	requireCode(t, connect.VerifyHello(hello.frame(t), check), connect.CodeHandshakeFailed)
}

func TestNoncesAreAcceptedOnce(t *testing.T) {
	t.Run("a hello that was accepted is refused when it is played again", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			failure := requireRefused(t, cfg, appHello(t).frame(t), connect.CodeNonceReplayed)
			assert.Equal(t, connect.HandshakeFailed, failure.Kind)
			assert.Equal(t, appID.PeerID(), failure.Peer)
		})
	})

	t.Run("of many racing replays one is accepted", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			hello := appHello(t).frame(t)
			var accepted, replayed atomic.Int32
			var all sync.WaitGroup
			for range 16 {
				near, far := connect.Pipe()
				require.NoError(t, far.Send(t.Context(), hello))
				all.Go(func() {
					r, err := connect.Accept(t.Context(), near, cfg)
					if failure, ok := errors.AsType[*connect.HandshakeError](err); ok {
						assert.Equal(t, connect.CodeNonceReplayed, failure.Code)
						replayed.Add(1)
						return
					}
					accepted.Add(1)
					r.Close()
					r.Wait()
				})
			}
			all.Wait()
			assert.EqualValues(t, 1, accepted.Load())
			assert.EqualValues(t, 15, replayed.Load())
		})
	})

	t.Run("two peers may use the same nonce", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Allow = append(cfg.Allow, strangerID.PeerID())
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			other := plainHello(strangerID, appNonce, "").signed(t, strangerID, connect.HelloEnvelope)
			requireAccepted(t, cfg, other.frame(t), ignoreSession)
		})
	})

	t.Run("a full store forgets the oldest nonce", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Nonces = connect.NewNonceStore(1)
			second := plainHello(appID, hostNonce, "").signed(t, appID, connect.HelloEnvelope).frame(t)
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
			requireAccepted(t, cfg, second, ignoreSession)
			requireRefused(t, cfg, second, connect.CodeNonceReplayed)
			requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
		})
	})

	type refusal struct {
		code  string
		hello func(t *testing.T) handmade
	}
	inBubbles(t, map[string]refusal{
		"a hello with a bad signature does not use up its nonce": {connect.CodeHelloSignature, func(t *testing.T) handmade {
			return appHello(t).with("signature", quoted(strings.Repeat("A", 86)))
		}},
		"a hello of another role does not use up its nonce": {connect.CodeHandshakeFailed, func(t *testing.T) handmade {
			return plainHello(appID, appNonce, hostNonce).signed(t, appID, connect.HelloEnvelope)
		}},
		"a hello without a host does not use up its nonce": {connect.CodeHandshakeFailed, func(t *testing.T) handmade {
			return plainHello(appID, appNonce, "").with("host", "[]").signed(t, appID, connect.HelloEnvelope)
		}},
		"a refused manifest does not use up its nonce": {connect.CodeManifestRefused, func(t *testing.T) handmade {
			return plainHello(appID, appNonce, "").with("host", "{}").signed(t, appID, connect.HelloEnvelope)
		}},
	}, func(t *testing.T, c refusal) {
		cfg := responderConfig()
		cfg.RefuseImperfectManifest = true
		requireRefused(t, cfg, c.hello(t).frame(t), c.code)
		requireAccepted(t, cfg, appHello(t).frame(t), ignoreSession)
	})

	broken := errors.New("disk full")
	inBubbles(t, map[string]connect.NonceStore{
		"an error of the nonce store refuses": nonceFunc(func(connect.PeerID, string) (bool, error) { return false, broken }),
		"an error of the nonce store refuses even a fresh nonce": nonceFunc(func(connect.PeerID, string) (bool, error) {
			return true, broken
		}),
	}, func(t *testing.T, nonces connect.NonceStore) {
		cfg := responderConfig()
		cfg.Nonces = nonces
		failure := requireRefused(t, cfg, appHello(t).frame(t), connect.CodeNonceStoreFailed)
		assert.ErrorIs(t, failure, broken)
	})

	t.Run("a dialer refuses a responder's nonce that it accepted before", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := dialConfig()
			cfg.Nonces = connect.NewNonceStore(0)
			frames := func(nonce string) [][]byte {
				return [][]byte{hostHello(t, nonce).frame(t), hostSession(t).frame(t)}
			}
			requireDialAccepts(t, cfg, frames, func(*connect.RemoteAdapter) {})
			requireDialRefuses(t, cfg, connect.CodeNonceReplayed, frames)
		})
	})

	t.Run("an error of a dialer's nonce store refuses", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := dialConfig()
			cfg.Nonces = nonceFunc(func(connect.PeerID, string) (bool, error) { return true, broken })
			failure := requireDialRefuses(t, cfg, connect.CodeNonceStoreFailed, func(nonce string) [][]byte {
				return [][]byte{hostHello(t, nonce).frame(t), hostSession(t).frame(t)}
			})
			assert.ErrorIs(t, failure, broken)
		})
	})
}

// fault is one thing that is wrong with a handshake.
type fault struct {
	name   string
	code   string
	says   string // a part of the error's text, for faults of one code
	member string // what it changes; two faults of one member do not go together
	change helloChange
	torn   bool // the frame is no JSON
	config func(*connect.Config)
}

func (f fault) configure(cfg *connect.Config) {
	if f.config != nil {
		f.config(cfg)
	}
}

// both returns the frame of an envelope with both faults.
func bothFaults(t testing.TB, first, second fault, plain handmade, id *connect.Identity, kind connect.EnvelopeKind) []byte {
	t.Helper()
	for _, f := range []fault{first, second} {
		if f.change.before != nil {
			plain = f.change.before(plain)
		}
	}
	m := plain.signed(t, id, kind)
	for _, f := range []fault{first, second} {
		if f.change.after != nil {
			m = f.change.after(m)
		}
	}
	frame := m.frame(t)
	if first.torn || second.torn {
		frame = frame[:len(frame)-1]
	}
	return frame
}

// eachPair runs f for each fault with each later one: the first must win.
func eachPair(t *testing.T, faults []fault, f func(t *testing.T, first, second fault)) {
	t.Helper()
	for i, first := range faults {
		for _, second := range faults[i:] {
			if first.name != second.name && first.member == second.member {
				continue
			}
			t.Run(first.name+" comes before "+second.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) { f(t, first, second) })
			})
		}
	}
}

// helloFaults are the gates of a hello that both roles have, in order.
func helloFaults(sender, role fault) []fault {
	return []fault{
		{name: "torn text", code: connect.CodeMalformed, member: "frame", torn: true},
		{name: "another version", code: connect.CodeVersionMismatch, member: "protocol_version",
			change: helloChange{before: setMember("protocol_version", "2")}},
		{name: "a short nonce", code: connect.CodeInvalidNonce, member: "nonce",
			change: helloChange{before: setMember("nonce", `"short"`)}},
		sender,
		role,
		{name: "an invalid signature", code: connect.CodeHelloSignature, member: "signature",
			change: helloChange{after: setMember("signature", quoted(strings.Repeat("A", 86)))}},
		{name: "an array for a host", code: connect.CodeHandshakeFailed, says: "host", member: "host",
			change: helloChange{before: setMember("host", "[]")}},
		{name: "an imperfect manifest", code: connect.CodeManifestRefused, member: "host",
			change: helloChange{before: setMember("host", "{}")},
			config: func(cfg *connect.Config) { cfg.RefuseImperfectManifest = true }},
		{name: "a replayed nonce", code: connect.CodeNonceReplayed, member: "store",
			config: func(cfg *connect.Config) { cfg.Nonces = nonceFunc(replayedNonce) }},
	}
}

func TestTheFirstGateOfTheResponderWins(t *testing.T) {
	stranger := fault{name: "a stranger", code: connect.CodePeerNotAllowed, member: "peer_id",
		change: helloChange{before: setMember("peer_id", quoted(strangerID.PeerID()))}}
	role := fault{name: "a peer nonce", code: connect.CodeHandshakeFailed, says: "peer_nonce", member: "peer_nonce",
		change: helloChange{before: setMember("peer_nonce", quoted(hostNonce))}}
	faults := helloFaults(stranger, role)
	// The allowlist comes before the version and the nonce, which a dialer judges first.
	faults[1], faults[2], faults[3] = faults[3], faults[1], faults[2]
	eachPair(t, faults, func(t *testing.T, first, second fault) {
		cfg := responderConfig()
		first.configure(&cfg.Config)
		second.configure(&cfg.Config)
		frame := bothFaults(t, first, second, plainHello(appID, appNonce, ""), appID, connect.HelloEnvelope)
		failure := requireRefused(t, cfg, frame, first.code)
		assert.Contains(t, failure.Error(), first.says)
	})
}

func TestTheFirstGateOfTheDialerWins(t *testing.T) {
	sender := fault{name: "another sender", code: connect.CodeHandshakeFailed, says: "not from", member: "peer_id",
		change: helloChange{before: setMember("peer_id", quoted(strangerID.PeerID()))}}
	role := fault{name: "another nonce answered", code: connect.CodeHandshakeFailed, says: "another nonce", member: "peer_nonce",
		change: helloChange{before: setMember("peer_nonce", quoted(appNonce))}}
	eachPair(t, helloFaults(sender, role), func(t *testing.T, first, second fault) {
		cfg := dialConfig()
		first.configure(&cfg.Config)
		second.configure(&cfg.Config)
		failure := requireDialRefuses(t, cfg, first.code, func(nonce string) [][]byte {
			frame := bothFaults(t, first, second, plainHello(hostID, hostNonce, nonce), hostID, connect.HelloEnvelope)
			return [][]byte{frame, []byte("no session either")}
		})
		assert.Contains(t, failure.Error(), first.says)
	})
}

func TestTheFirstGateOfTheSessionWins(t *testing.T) {
	before := func(member, value string) helloChange { return helloChange{before: setMember(member, value)} }
	eachPair(t, []fault{
		{name: "torn text", code: connect.CodeMalformed, member: "frame", torn: true},
		{name: "no signature", code: spoke.KindEnvelopeAuthMissing, member: "signature",
			change: helloChange{after: dropMember("signature")}},
		{name: "an invalid signature", code: spoke.KindEnvelopeAuthInvalid, member: "signature",
			change: helloChange{after: setMember("signature", quoted(strings.Repeat("A", 86)))}},
		{name: "an unknown member", code: spoke.KindEnvelopeAuthInvalid, member: "x",
			change: helloChange{after: setMember("x", "1")}},
		{name: "an empty session id", code: connect.CodeInvalidSession, says: "session_id", member: "session_id",
			change: before("session_id", `""`)},
		{name: "another initiator", code: connect.CodeInvalidSession, says: "other peers", member: "initiator_peer_id",
			change: before("initiator_peer_id", quoted(strangerID.PeerID()))},
		{name: "a first sequence of 1", code: connect.CodeInvalidSession, says: "initial_sequence", member: "initial_sequence",
			change: before("initial_sequence", "1")},
		{name: "an unreadable time", code: connect.CodeInvalidSession, says: "opened_at", member: "opened_at",
			change: before("opened_at", `"yesterday"`)},
		{name: "an empty list", code: connect.CodeInvalidSession, says: "negotiated_capabilities", member: "negotiated_capabilities",
			change: before("negotiated_capabilities", "[]")},
	}, func(t *testing.T, first, second fault) {
		failure := requireDialRefuses(t, dialConfig(), first.code, func(nonce string) [][]byte {
			session := bothFaults(t, first, second, plainSession(), hostID, connect.SessionEnvelope)
			return [][]byte{hostHello(t, nonce).frame(t), session}
		})
		assert.Contains(t, failure.Error(), first.says)
		assert.Equal(t, hostID.PeerID(), failure.Peer)
	})
}

func TestDialerJudgesTheSession(t *testing.T) {
	invalid := func(member, value string) helloChange {
		return helloChange{code: connect.CodeInvalidSession, before: setMember(member, value)}
	}
	unverified := func(after func(handmade) handmade) helloChange {
		return helloChange{code: spoke.KindEnvelopeAuthInvalid, after: after}
	}
	inBubbles(t, map[string]helloChange{
		"a session that is not signed is refused":            {spoke.KindEnvelopeAuthMissing, nil, dropMember("signature")},
		"a session whose signature is empty is refused":      {spoke.KindEnvelopeAuthMissing, nil, setMember("signature", `""`)},
		"a session whose signature is no text is refused":    {spoke.KindEnvelopeAuthMissing, nil, setMember("signature", "1")},
		"a session that changed after signing is refused":    unverified(setMember("session_id", `"another session"`)),
		"a session with an unknown member is refused":        unverified(setMember("x", "1")),
		"a session with a member of a request is refused":    unverified(setMember("op", `"upsert"`)),
		"a session with auth is refused":                     unverified(setMember("auth", "{}")),
		"a session that lacks a member is refused":           unverified(dropMember("opened_at")),
		"a session that lacks its id is refused":             unverified(dropMember("session_id")),
		"a session without extensions is accepted":           {after: dropMember("extensions")},
		"a session with extensions is accepted":              {after: setMember("extensions", `{"a":{}}`)},
		"swapped peers are refused":                          {connect.CodeInvalidSession, swapPeers, nil},
		"another initiator is refused":                       invalid("initiator_peer_id", quoted(strangerID.PeerID())),
		"another responder is refused":                       invalid("responder_peer_id", quoted(strangerID.PeerID())),
		"an initiator that is no text is refused":            invalid("initiator_peer_id", "null"),
		"a responder that is no text is refused":             invalid("responder_peer_id", "[]"),
		"a first sequence of 1 is refused":                   invalid("initial_sequence", "1"),
		"a first sequence of -1 is refused":                  invalid("initial_sequence", "-1"),
		"a first sequence that is text is refused":           invalid("initial_sequence", `"0"`),
		"a first sequence that is null is refused":           invalid("initial_sequence", "null"),
		"a first sequence of 0.0 is 0":                       {after: setMember("initial_sequence", "0.0")},
		"a first sequence of -0 is 0":                        {after: setMember("initial_sequence", "-0")},
		"an empty session id is refused":                     invalid("session_id", `""`),
		"a session id of 128 characters is accepted":         {before: setMember("session_id", quoted(strings.Repeat("s", 128)))},
		"a session id of 64 astral characters is accepted":   {before: setMember("session_id", quoted(strings.Repeat("🎲", 64)))},
		"a session id of 129 characters is refused":          invalid("session_id", quoted(strings.Repeat("s", 129))),
		"a session id of 65 astral characters is refused":    invalid("session_id", quoted(strings.Repeat("🎲", 65))),
		"a session id that is a number is refused":           invalid("session_id", "7"),
		"a session id that is null is refused":               invalid("session_id", "null"),
		"a session id that is an object is refused":          invalid("session_id", `{"id":"s"}`),
		"a time that is no time is refused":                  invalid("opened_at", `"yesterday"`),
		"a time that is a date only is refused":              invalid("opened_at", `"2030-01-02"`),
		"a time without a zone is refused":                   invalid("opened_at", `"2030-01-02T03:04:05"`),
		"a time that is a number is refused":                 invalid("opened_at", "1893553445"),
		"a time of whole seconds is accepted":                {before: setMember("opened_at", `"2030-01-02T03:04:05Z"`)},
		"an empty list of capabilities is refused":           invalid("negotiated_capabilities", "[]"),
		"capabilities that are null are refused":             invalid("negotiated_capabilities", "null"),
		"capabilities that are text are refused":             invalid("negotiated_capabilities", `"spoke-baseline"`),
		"capabilities that are an object are refused":        invalid("negotiated_capabilities", `{"spoke-baseline":1}`),
		"a capability that is a number is refused":           invalid("negotiated_capabilities", `["spoke-baseline",1]`),
		"capabilities that nobody negotiated change nothing": {before: setMember("negotiated_capabilities", `["tools.test.slow","admin"]`)},
	}, func(t *testing.T, c helloChange) {
		frames := func(nonce string) [][]byte {
			session := c.apply(t, plainSession(), hostID, connect.SessionEnvelope)
			return [][]byte{hostHello(t, nonce).frame(t), session.frame(t)}
		}
		if c.code != "" {
			failure := requireDialRefuses(t, dialConfig(), c.code, frames)
			assert.Equal(t, connect.HandshakeFailed, failure.Kind)
			assert.Equal(t, hostID.PeerID(), failure.Peer)
			return
		}
		requireDialAccepts(t, dialConfig(), frames, func(app *connect.RemoteAdapter) {
			// What the two hellos have in common, in the responder's order.
			want := []string{connect.CapabilityBaseline, "test.ops", echoTool, otherTool}
			assert.Equal(t, want, app.NegotiatedCapabilities())
		})
	})

	signers := map[string]*connect.Identity{
		"a session that a stranger signed is refused":        strangerID,
		"a session that the dialer itself signed is refused": appID,
	}
	inBubbles(t, signers, func(t *testing.T, signer *connect.Identity) {
		requireDialRefuses(t, dialConfig(), spoke.KindEnvelopeAuthInvalid, func(nonce string) [][]byte {
			session := plainSession().signed(t, signer, connect.SessionEnvelope)
			return [][]byte{hostHello(t, nonce).frame(t), session.frame(t)}
		})
	})

	t.Run("a second hello is no session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			requireDialRefuses(t, dialConfig(), spoke.KindEnvelopeAuthInvalid, func(nonce string) [][]byte {
				return [][]byte{hostHello(t, nonce).frame(t), hostHello(t, nonce).frame(t)}
			})
		})
	})

	t.Run("a peer that leaves after its hello is named", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			d.answer(t, hostHello(t, d.nonce).frame(t))
			d.far.Close()
			<-d.done
			failure := requireCode(t, d.err, connect.CodeTransport)
			assert.ErrorIs(t, failure, io.EOF)
			assert.Equal(t, hostID.PeerID(), failure.Peer)
		})
	})
}

func swapPeers(m handmade) handmade {
	return m.with("initiator_peer_id", string(m["responder_peer_id"])).
		with("responder_peer_id", string(m["initiator_peer_id"]))
}

func TestReusedSessionIDs(t *testing.T) {
	dialTwice := func(t *testing.T, ids ...string) string {
		var log bytes.Buffer
		cfg := dialConfig()
		cfg.Identity = identityOf(0x63) // one that has met nobody
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		for i, id := range ids {
			frames := func(nonce string) [][]byte {
				hello := plainHello(hostID, strings.Repeat("n", 16+i), nonce).signed(t, hostID, connect.HelloEnvelope)
				session := plainSession().with("session_id", quoted(id)).signed(t, hostID, connect.SessionEnvelope)
				return [][]byte{hello.frame(t), session.frame(t)}
			}
			requireDialAccepts(t, cfg, frames, func(app *connect.RemoteAdapter) { assert.Equal(t, id, app.ID()) })
		}
		return log.String()
	}
	t.Run("a session id that came before is accepted with a warning", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			log := dialTwice(t, "one", "one")
			assert.Equal(t, 1, strings.Count(log, "level=WARN"), log)
			assert.Contains(t, log, "reused a session id")
			assert.Contains(t, log, string(hostID.PeerID()))
		})
	})
	t.Run("fresh session ids are not worth a warning", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			assert.NotContains(t, dialTwice(t, "one", "two"), "level=WARN")
		})
	})
}

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

// deaf is a transport whose peer neither sends more than a few frames nor reads. It
// ignores contexts, as a transport may.
type deaf struct {
	frames chan []byte
	closed chan struct{}
	once   sync.Once
	reads  bool
}

func newDeaf(reads bool, frames ...[]byte) *deaf {
	d := &deaf{frames: make(chan []byte, len(frames)), closed: make(chan struct{}), reads: reads}
	for _, frame := range frames {
		d.frames <- frame
	}
	return d
}

func (d *deaf) Send(context.Context, []byte) error {
	if d.reads {
		return nil
	}
	<-d.closed
	return io.ErrClosedPipe
}

func (d *deaf) Recv(context.Context) ([]byte, error) {
	select {
	case frame := <-d.frames:
		return frame, nil
	case <-d.closed:
		return nil, io.ErrClosedPipe
	}
}

// fateful is a transport that acts right after a given Send or Recv has succeeded.
type fateful struct {
	connect.Transport
	sends, recvs int
	act          func()
}

func (f *fateful) Send(ctx context.Context, frame []byte) error {
	err := f.Transport.Send(ctx, frame)
	if f.sends--; f.sends == 0 {
		f.act()
	}
	return err
}

func (f *fateful) Recv(ctx context.Context) ([]byte, error) {
	frame, err := f.Transport.Recv(ctx)
	if f.recvs--; f.recvs == 0 {
		f.act()
	}
	return frame, err
}

// failing is a transport whose calls fail at once.
type failing struct {
	*deaf
	err error
}

func (f failing) Send(context.Context, []byte) error   { return f.err }
func (f failing) Recv(context.Context) ([]byte, error) { return nil, f.err }

func (d *deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *deaf) requireClosed(t testing.TB) {
	t.Helper()
	select {
	case <-d.closed:
	default:
		require.Fail(t, "the transport is open")
	}
}

// halves run one side's handshake over a transport.
func halves(timeout time.Duration) map[string]func(context.Context, connect.Transport) error {
	return map[string]func(context.Context, connect.Transport) error{
		"dialer": func(ctx context.Context, t connect.Transport) error {
			cfg := dialConfig()
			cfg.HandshakeTimeout = timeout
			_, err := connect.Dial(ctx, t, cfg)
			return err
		},
		"responder": func(ctx context.Context, t connect.Transport) error {
			cfg := responderConfig()
			cfg.HandshakeTimeout = timeout
			_, err := connect.Accept(ctx, t, cfg)
			return err
		},
	}
}

func requireTimeout(t testing.TB, err error) {
	t.Helper()
	failure := requireCode(t, err, connect.CodeTimeout)
	assert.Equal(t, connect.HandshakeTimeout, failure.Kind)
	assert.ErrorIs(t, failure, context.DeadlineExceeded)
}

func TestHandshakeTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 1500 * time.Millisecond: 1500 * time.Millisecond} {
		for role, run := range halves(timeout) {
			t.Run(role+" waits "+want.String()+" for a silent peer", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					start, peer := time.Now(), newDeaf(true)
					requireTimeout(t, run(t.Context(), peer))
					assert.Equal(t, want, time.Since(start))
					peer.requireClosed(t)
				})
			})
			t.Run(role+" waits "+want.String()+" for a peer that does not read", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					start, peer := time.Now(), newDeaf(false, appHello(t).frame(t))
					requireTimeout(t, run(t.Context(), peer))
					assert.Equal(t, want, time.Since(start))
					peer.requireClosed(t)
				})
			})
			t.Run(role+" waits "+want.String()+" over a pipe and closes it", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					start := time.Now()
					near, far := connect.Pipe()
					requireTimeout(t, run(t.Context(), near))
					assert.Equal(t, want, time.Since(start))
					if role == "dialer" {
						_, err := far.Recv(t.Context()) // its hello
						require.NoError(t, err)
					}
					requireClosed(t, far)
				})
			})
		}
	}

	for role, run := range halves(0) {
		t.Run(role+" takes the word of a transport that keeps the time itself", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				peer := failing{newDeaf(true), fmt.Errorf("write tcp: %w", os.ErrDeadlineExceeded)}
				requireTimeout(t, run(t.Context(), peer))
				peer.requireClosed(t)
			})
		})
		t.Run(role+" says what is wrong with a transport that fails", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				peer := failing{newDeaf(true), io.ErrUnexpectedEOF}
				failure := requireCode(t, run(t.Context(), peer), connect.CodeTransport)
				assert.ErrorIs(t, failure, io.ErrUnexpectedEOF)
				assert.Equal(t, connect.HandshakeFailed, failure.Kind)
				peer.requireClosed(t)
			})
		})
	}

	t.Run("a peer that sends its hello and then nothing does not get more time", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			start := time.Now()
			d := startDial(t, t.Context(), dialConfig())
			<-time.After(4 * time.Second)
			d.answer(t, hostHello(t, d.nonce).frame(t))
			<-d.done
			requireTimeout(t, d.err)
			assert.Equal(t, 5*time.Second, time.Since(start))
			requireClosed(t, d.far)
		})
	})

	t.Run("a handshake that is slow but in time succeeds, and its time is over then", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			<-time.After(4 * time.Second)
			d.answer(t, hostHello(t, d.nonce).frame(t), hostSession(t).frame(t))
			<-d.done
			require.NoError(t, d.err)
			<-time.After(time.Hour)
			assert.Equal(t, connect.Established, d.app.State())
			d.app.Close()
			require.NoError(t, d.app.Wait())
		})
	})
}

func TestHandshakeContext(t *testing.T) {
	for role, run := range halves(0) {
		t.Run(role+" gives up when the caller does", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start, peer := time.Now(), newDeaf(true)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				failure := requireCode(t, run(ctx, peer), connect.CodeCanceled)
				assert.ErrorIs(t, failure, context.Canceled)
				assert.NotErrorIs(t, failure, context.DeadlineExceeded)
				assert.Equal(t, connect.HandshakeFailed, failure.Kind)
				assert.Equal(t, time.Second, time.Since(start))
				peer.requireClosed(t)
			})
		})
		t.Run(role+" gives up when the caller did before", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				peer := newDeaf(true)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				assert.ErrorIs(t, run(ctx, peer), context.Canceled)
				peer.requireClosed(t)
			})
		})
		t.Run(role+" keeps an earlier deadline of the caller's", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start, peer := time.Now(), newDeaf(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				requireTimeout(t, run(ctx, peer))
				assert.Equal(t, time.Second, time.Since(start))
				peer.requireClosed(t)
			})
		})
		t.Run(role+" does not wait for a later deadline of the caller's", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				requireTimeout(t, run(ctx, newDeaf(true)))
				assert.Equal(t, 5*time.Second, time.Since(start))
			})
		})
	}

	t.Run("a caller that gives up at the last moment gets no session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			near, far := connect.Pipe()
			accepted := make(chan *connect.Responder, 1)
			go func() {
				r, err := connect.Accept(t.Context(), far, responderConfig())
				assert.NoError(t, err)
				accepted <- r
			}()
			_, err := connect.Dial(ctx, &fateful{Transport: near, recvs: 2, act: cancel}, dialConfig())
			requireCode(t, err, connect.CodeCanceled)
			require.ErrorIs(t, (<-accepted).Wait(), io.EOF)

			ctx, cancel = context.WithCancel(t.Context())
			near, far = connect.Pipe()
			require.NoError(t, far.Send(t.Context(), appHello(t).frame(t)))
			_, err = connect.Accept(ctx, &fateful{Transport: near, sends: 2, act: cancel}, responderConfig())
			requireCode(t, err, connect.CodeCanceled)
			_ = snapshot(t, far)
			requireClosed(t, far)
		})
	})

	t.Run("a context that ends after the handshake does not end the session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			d := startDial(t, ctx, dialConfig())
			d.answer(t, hostHello(t, d.nonce).frame(t), hostSession(t).frame(t))
			<-d.done
			require.NoError(t, d.err)
			cancel()
			<-time.After(time.Minute)
			assert.Equal(t, connect.Established, d.app.State())
			d.app.Close()
			require.NoError(t, d.app.Wait())
		})
	})
}

func TestHandshakeFrameSize(t *testing.T) {
	// sized is a frame with white space in it, so that nothing else is wrong.
	sized := func(t *testing.T, m handmade, size int) []byte {
		frame := m.frame(t)
		return append(append([]byte("{"), bytes.Repeat([]byte(" "), size-len(frame))...), frame[1:]...)
	}
	const most = 256 << 10

	t.Run("a responder accepts a hello of 256 KiB and none that is larger", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			failure := requireRefused(t, responderConfig(), sized(t, appHello(t), most+1), connect.CodeMalformed)
			assert.Equal(t, connect.HandshakeFailed, failure.Kind)
			requireAccepted(t, responderConfig(), sized(t, appHello(t), most), ignoreSession)
		})
	})
	t.Run("a dialer accepts a hello of 256 KiB and none that is larger", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			frames := func(size int) func(string) [][]byte {
				return func(nonce string) [][]byte {
					return [][]byte{sized(t, hostHello(t, nonce), size), hostSession(t).frame(t)}
				}
			}
			requireDialRefuses(t, dialConfig(), connect.CodeMalformed, frames(most+1))
			requireDialAccepts(t, dialConfig(), frames(most), func(*connect.RemoteAdapter) {})
		})
	})
	t.Run("a dialer accepts a session of 256 KiB and none that is larger", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			frames := func(size int) func(string) [][]byte {
				return func(nonce string) [][]byte {
					return [][]byte{hostHello(t, nonce).frame(t), sized(t, hostSession(t), size)}
				}
			}
			requireDialRefuses(t, dialConfig(), connect.CodeMalformed, frames(most+1))
			requireDialAccepts(t, dialConfig(), frames(most), func(*connect.RemoteAdapter) {})
		})
	})
	t.Run("the limit can be set", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Limits.HandshakeFrameBytes = 8000
			requireRefused(t, cfg, sized(t, appHello(t), 8001), connect.CodeMalformed)
			requireAccepted(t, cfg, sized(t, appHello(t), 8000), ignoreSession)
		})
	})
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, _ *connect.Session) {
		args := map[string]string{"text": strings.Repeat("x", 300<<10)}
		got, err := caller.InvokeTool(t.Context(), echoTool, args)
		require.NoError(t, err)
		assert.Greater(t, len(got), 300<<10)
	})
}

func TestMalformedFrames(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat("[", levels) + strings.Repeat("]", levels)
	}
	// insert puts members before those of the frame.
	insert := func(members string) func([]byte) []byte {
		return func(frame []byte) []byte { return append([]byte("{"+members+","), frame[1:]...) }
	}
	becomes := func(text string) func([]byte) []byte {
		return func([]byte) []byte { return []byte(text) }
	}
	inBubbles(t, map[string]func([]byte) []byte{
		"no text at all is refused":               becomes(""),
		"white space only is refused":             becomes(" \n"),
		"text that is no JSON is refused":         becomes("hello"),
		"a torn object is refused":                func(frame []byte) []byte { return frame[:len(frame)-1] },
		"a list is refused":                       func(frame []byte) []byte { return append(append([]byte("["), frame...), ']') },
		"a string is refused":                     becomes(`"hello"`),
		"null is refused":                         becomes("null"),
		"a number is refused":                     becomes("1"),
		"a second document is refused":            func(frame []byte) []byte { return append(frame, frame...) },
		"trailing text is refused":                func(frame []byte) []byte { return append(frame, 'x') },
		"a trailing zero byte is refused":         func(frame []byte) []byte { return append(frame, 0) },
		"a byte order mark is refused":            func(frame []byte) []byte { return append([]byte("\xef\xbb\xbf"), frame...) },
		"a comment is refused":                    func(frame []byte) []byte { return append([]byte("/**/"), frame...) },
		"a trailing comma is refused":             func(frame []byte) []byte { return append(frame[:len(frame)-1], ",}"...) },
		"a duplicate name is refused":             insert(`"extensions":{}`),
		"a duplicate by escape is refused":        insert(`"\u0065xtensions":{}`),
		"a duplicate unknown name is refused":     insert(`"x":1,"x":1`),
		"a duplicate name deep inside is refused": insert(`"x":[{"y":1,"y":1}]`),
		"a number out of range is refused":        insert(`"x":1e400`),
		"a negative number out of range too":      insert(`"x":{"y":[-1e400]}`),
		"a lone high surrogate is refused":        insert(`"x":"\ud800"`),
		"a lone low surrogate is refused":         insert(`"x":"\udc00"`),
		"a lone surrogate in a name is refused":   insert(`"\ud800":1`),
		"invalid UTF-8 is refused":                insert("\"x\":\"\xff\""),
		"an encoded surrogate is refused":         insert("\"x\":\"\xed\xa0\x80\""),
		"a raw control character is refused":      insert("\"x\":\"\n\""),
		"256 levels below the frame are refused":  insert(`"x":` + nested(256)),
		"100000 levels are refused":               insert(`"x":` + nested(100_000)),
	}, func(t *testing.T, spoil func([]byte) []byte) {
		spoiled := func(m handmade) []byte { return spoil(m.frame(t)) }
		failure := requireRefused(t, responderConfig(), spoiled(appHello(t)), connect.CodeMalformed)
		assert.Empty(t, failure.Peer, "a frame that cannot be read claims nothing")
		assert.Equal(t, connect.HandshakeFailed, failure.Kind)
		requireDialRefuses(t, dialConfig(), connect.CodeMalformed, func(nonce string) [][]byte {
			return [][]byte{spoiled(hostHello(t, nonce)), hostSession(t).frame(t)}
		})
		requireDialRefuses(t, dialConfig(), connect.CodeMalformed, func(nonce string) [][]byte {
			return [][]byte{hostHello(t, nonce).frame(t), spoiled(hostSession(t))}
		})
	})

	t.Run("white space around a document is part of it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			frame := append(append([]byte(" \r\n\t"), appHello(t).frame(t)...), " \r\n\t"...)
			requireAccepted(t, responderConfig(), frame, ignoreSession)
		})
	})
	t.Run("255 levels below the frame are accepted", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hello := appHello(t).with("extensions", nested(255))
			requireAccepted(t, responderConfig(), hello.frame(t), ignoreSession)
		})
	})
	t.Run("a manifest may be as deep as a frame allows", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			dial := dialConfig()
			dial.Manifest.Extensions = spoke.Extensions{"a": raw(`{"n":%s}`, nested(252))}
			connectPair(t, dial, responderConfig()).close()
		})
	})
	t.Run("the depth can be set", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cfg := responderConfig()
			cfg.Limits.Depth = 8
			requireRefused(t, cfg, appHello(t).with("extensions", nested(8)).frame(t), connect.CodeMalformed)
			requireAccepted(t, cfg, appHello(t).with("extensions", nested(7)).frame(t), ignoreSession)
		})
	})
}

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

func TestKindsOfHandshakeErrors(t *testing.T) {
	hello := func(t *testing.T, change helloChange) []byte {
		return change.apply(t, plainHello(appID, appNonce, ""), appID, connect.HelloEnvelope).frame(t)
	}
	inBubbles(t, map[string]func(t *testing.T) error{
		"config": func(t *testing.T) error {
			_, _, err := acceptFrames(t, connect.ResponderConfig{})
			return err
		},
		"handshake": func(t *testing.T) error {
			_, _, err := acceptFrames(t, responderConfig(), hello(t, helloChange{after: dropMember("signature")}))
			return err
		},
		"timeout": func(t *testing.T) error {
			_, _, err := acceptFrames(t, responderConfig())
			return err
		},
		"protocol_version_mismatch": func(t *testing.T) error {
			_, _, err := acceptFrames(t, responderConfig(), hello(t, helloChange{before: setMember("protocol_version", "2")}))
			return err
		},
	}, func(t *testing.T, fail func(t *testing.T) error) {
		var failure *connect.HandshakeError
		require.ErrorAs(t, fail(t), &failure)
		// The subtest is named for the kind.
		assert.Equal(t, t.Name(), "TestKindsOfHandshakeErrors/"+string(failure.Kind))
		assert.Contains(t, failure.Error(), "connect: handshake failed ("+failure.Code+")")
		assert.Contains(t, failure.Error(), errors.Unwrap(failure).Error())
	})
}

func TestNoncesAreRememberedByTheIdentityWhenNothingElseIsSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := responderConfig()
		cfg.Identity, cfg.Nonces = identityOf(0x51), nil
		hello := appHello(t).frame(t)
		requireAccepted(t, cfg, hello, ignoreSession)
		requireRefused(t, cfg, hello, connect.CodeNonceReplayed)
		other := cfg
		other.Identity = identityOf(0x51) // as after a restart
		requireAccepted(t, other, hello, ignoreSession)
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
