package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// A fixture envelope comes from peers that have no keys. To be judged it is made one of
// a session under way: ids that stand in the fixture become those of the session, and
// it is signed. A mutant keeps its mutation.

// adopt returns the envelope with members of the fixture replaced, signed by id. A
// signature that a mutant changed or lost stays as it is.
func adopt(id *connect.Identity, doc json.RawMessage, replace map[string]string) (wire.Frame, error) {
	f, err := wire.Parse(doc)
	if err != nil {
		return wire.Frame{Text: doc}, nil // a mutant that is no object is sent as it is
	}
	for name, value := range replace {
		if fixtureIDs[f.TextOf(name)] {
			text, err := json.Marshal(value)
			if err != nil {
				return f, err
			}
			f.Members[name] = text
		}
	}
	unsigned := wire.Object{}
	for name, value := range f.Members {
		if name != "signature" && name != "extensions" {
			unsigned[name] = value
		}
	}
	signed, err := wire.Sign(id, unsigned)
	if err != nil {
		return f, err
	}
	const signatureLength = 86
	if len(f.TextOf("signature")) == signatureLength {
		f.Members["signature"] = signed.Members["signature"]
	}
	text, err := json.Marshal(f.Members)
	return wire.Frame{Text: text, Members: f.Members}, err
}

// fixtureIDs are the ids in the fixtures that a session replaces by its own.
var fixtureIDs = map[string]bool{
	"peer_tw_primary": true, "peer_tw_peer": true, "sess_tw_connect_0001": true,
	"req_tw_check_0001": true, "req_tw_check_0002": true,
}

// inBubble runs a judgement in virtual time.
func inBubble(t *testing.T, judge func(t *testing.T, ctx context.Context) error) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = judge(t, t.Context()) })
	return err
}

// acceptHello sends the hello to a responder that refuses imperfect manifests.
func acceptHello(t *testing.T, doc json.RawMessage) error {
	return inBubble(t, func(t *testing.T, ctx context.Context) error {
		cfg, far, err := benchConfig{}.peers(responderRole)
		require.NoError(t, err)
		cfg.RefuseImperfectManifest = true
		hello, err := adopt(far, doc, map[string]string{"peer_id": string(far.PeerID())})
		if err != nil {
			return err
		}
		mine, theirs := connect.Pipe()
		defer theirs.Close()
		require.NoError(t, theirs.Send(ctx, hello.Text))
		r, err := connect.Accept(ctx, mine, connect.ResponderConfig{Config: cfg})
		if err == nil {
			r.Close()
			_ = r.Wait()
		}
		return err
	})
}

// acceptSession sends the session to a dialer.
func acceptSession(t *testing.T, doc json.RawMessage) error {
	return inBubble(t, func(t *testing.T, ctx context.Context) error {
		cfg, far, err := benchConfig{}.peers(dialerRole)
		require.NoError(t, err)
		mine, theirs := connect.Pipe()
		b := &bench{peer: &wire.Peer{ID: far, Transport: theirs}}
		defer b.close()
		opened := make(chan error, 1)
		go func() { opened <- b.open(ctx, dialerRole, mine, cfg, far.PeerID()) }()
		asked, err := b.peer.Greet(ctx)
		require.NoError(t, err)
		hello, err := b.peer.Hello("a-nonce-of-the-responder", asked.Hello.TextOf("nonce"), manifestOf("far-end", nil))
		require.NoError(t, err)
		require.NoError(t, b.peer.Send(ctx, hello))
		session, err := adopt(far, doc, map[string]string{
			"initiator_peer_id": string(cfg.Identity.PeerID()), "responder_peer_id": string(far.PeerID()),
		})
		require.NoError(t, err)
		require.NoError(t, b.peer.Send(ctx, session))
		return <-opened
	})
}

// acceptRequest sends the request to a session that serves the fixture's op.
func acceptRequest(t *testing.T, doc json.RawMessage) error {
	return inBubble(t, func(t *testing.T, ctx context.Context) error {
		op := connect.Op{Name: "check", Handle: func(_ context.Context, p json.RawMessage) (any, error) { return p, nil }}
		b, err := openBench(ctx, responderRole, benchConfig{ops: []connect.Op{op}})
		require.NoError(t, err)
		defer b.close()
		request, err := adopt(b.peer.ID, doc, map[string]string{"session_id": b.peer.SessionID})
		require.NoError(t, err)
		require.NoError(t, b.peer.Send(ctx, request))
		// Whatever the peer says to the request comes before it falls silent.
		synctest.Wait()
		if _, err := b.peer.Call(ctx, "nobody.knows", wire.Object{}); err != nil {
			return err
		}
		if !b.peer.Early(request) {
			return errors.New("no answer")
		}
		answer, err := b.peer.Answer(ctx, request)
		require.NoError(t, err)
		if outcome := answer.Outcome(); outcome != "success" {
			return errors.New(outcome)
		}
		return nil
	})
}

// acceptResponse answers an invoke with the response: a success gives its payload, a
// failure the reject that the fixture's error means.
func acceptResponse(t *testing.T, doc json.RawMessage) error {
	return inBubble(t, func(t *testing.T, ctx context.Context) error {
		b, err := openBench(ctx, dialerRole, benchConfig{})
		require.NoError(t, err)
		defer b.close()
		request, settled, err := b.requestFor(ctx, doc)
		require.NoError(t, err)
		response, err := adopt(b.peer.ID, doc, map[string]string{
			"session_id": b.peer.SessionID, "request_id": request.TextOf("request_id"),
		})
		require.NoError(t, err)
		require.NoError(t, b.peer.Send(ctx, response))
		value, err := settled()
		reject, rejected := errors.AsType[*spoke.Reject](err)
		switch {
		case rejected && reject.Remote() && response.Has("error") && response.TextOf("signature") != "":
			return nil
		case err != nil:
			return err
		}
		return sameText("payload", mustCanonical(t, response.Members["payload"]), string(value))
	})
}

// requestFor makes the session invoke until it asks at the sequence of the fixture: a
// failure is the answer to the second request.
func (b *bench) requestFor(ctx context.Context, doc json.RawMessage) (wire.Frame, func() (json.RawMessage, error), error) {
	last := 0
	if f, err := wire.Parse(doc); err == nil && f.Has("error") {
		last = 1
	}
	for n := 0; ; n++ {
		settled := b.invoke(ctx, func() (json.RawMessage, error) {
			return b.session.Invoke(ctx, "check", json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)))
		})
		request, err := b.peer.AwaitRequest(ctx)
		if err != nil || n == last {
			return request, settled, err
		}
		if err := b.peer.Respond(ctx, request, "payload", wire.Object{}); err != nil {
			return request, nil, err
		}
		if _, err := settled(); err != nil {
			return request, nil, err
		}
	}
}
