package connect_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"testing"

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
