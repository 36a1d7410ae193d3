package transcript

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/internal/diff"
	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// Replay judges every frame of a transcript: it names the envelope, verifies its
// signature by the sender's key, and that it stands where it can stand. The keys of the
// peers are inside their peer ids. A challenge for a capability token and its answer carry
// no signature; of the answer the token must verify for the two peers. Envelopes of the
// identities are signed again and compared, as canonical text without the unsigned
// extensions; an identity that is neither peer's is reported.
func Replay(entries []Entry, identities ...*connect.Identity) *Report {
	judge, report := NewJudge(identities...), &Report{}
	for _, e := range entries {
		report.add(judge.Next(e))
	}
	for _, id := range identities {
		if peer := id.PeerID(); peer != judge.peers[FromDialer] && peer != judge.peers[FromResponder] {
			report.Strangers = append(report.Strangers, peer)
		}
	}
	report.finish()
	return report
}

// Judge judges the frames of one session as they come, each as [Replay] does. Make one
// with [NewJudge]. It is for one goroutine at a time and remembers every request.
type Judge struct {
	identities map[connect.PeerID]*connect.Identity
	n          int                       // frames so far
	peers      map[string]connect.PeerID // by side
	nonce      string                    // the dialer's
	sessionID  string
	challenged bool              // the responder asked for a token
	open       string            // id of its challenge until that is answered
	asked      map[string]string // ops of requests, by side and request id
}

// NewJudge returns a judge of a session that begins.
func NewJudge(identities ...*connect.Identity) *Judge {
	j := &Judge{
		identities: make(map[connect.PeerID]*connect.Identity, len(identities)),
		peers:      make(map[string]connect.PeerID, 2),
		asked:      make(map[string]string),
	}
	for _, id := range identities {
		j.identities[id.PeerID()] = id
	}
	return j
}

// Next judges the next frame of the session. Line.N counts from 1.
func (j *Judge) Next(e Entry) Line {
	j.n++
	line := Line{N: j.n, From: e.From}
	f, err := wire.Parse([]byte(e.Frame))
	if err != nil {
		line.Name, line.Problem = "no envelope", err.Error()
		return line
	}
	kind, name := j.name(e.From, f)
	line.Name = name
	if kind == 0 {
		if line.Name, err = j.unsigned(e.From, f); err != nil {
			line.Problem = err.Error()
		}
		line.Unsigned = line.Problem == ""
		return line
	}
	if err := j.verify(e.From, kind, f); err != nil {
		line.Problem = err.Error()
	}
	line.Signed = line.Problem == ""
	if id, ok := j.identities[j.peers[e.From]]; ok {
		line.Resigned = true
		if err := line.compare(id, kind, f); err != nil {
			line.Problem = err.Error()
		}
	}
	return line
}

// name says what a signed envelope is, and remembers the ops of requests for their
// answers. The kind is 0 for other frames.
func (j *Judge) name(from string, f wire.Frame) (connect.EnvelopeKind, string) {
	sequence := string(f.Members["sequence"])
	switch {
	case f.Has("protocol_version"):
		return connect.HelloEnvelope, "hello"
	case f.Has("initiator_peer_id"):
		return connect.SessionEnvelope, "session"
	case f.IsRequest():
		j.asked[from+f.TextOf("request_id")] = f.TextOf("op")
		return connect.RequestEnvelope, "request " + sequence + " " + f.TextOf("op")
	case f.Has("request_id") && (f.Has("payload") || f.Has("error")):
		return connect.ResponseEnvelope, "answer " + sequence + " " + j.asked[other(from)+f.TextOf("request_id")] + ": " + f.Outcome()
	}
	return 0, ""
}

func other(from string) string {
	if from == FromDialer {
		return FromResponder
	}
	return FromDialer
}

// verify judges an envelope by the sender's key and by what was said before.
func (j *Judge) verify(from string, kind connect.EnvelopeKind, f wire.Frame) error {
	if kind == connect.HelloEnvelope {
		return j.verifyHello(from, f)
	}
	if kind == connect.SessionEnvelope {
		j.sessionID = f.TextOf("session_id")
	}
	if kind == connect.ResponseEnvelope && j.asked[other(from)+f.TextOf("request_id")] == "" {
		return errors.New("answers no request of this transcript")
	}
	key, err := j.peers[from].PublicKey()
	if err != nil {
		return fmt.Errorf("no key of the %s: %w", from, err)
	}
	return connect.VerifyEnvelope(kind, f.Text, key, j.sessionID)
}

// verifyHello takes the sender's peer id from its hello.
func (j *Judge) verifyHello(from string, f wire.Frame) error {
	peer := connect.PeerID(f.TextOf("peer_id"))
	key, err := peer.PublicKey()
	if err != nil {
		return err
	}
	j.peers[from] = peer
	check := connect.HelloCheck{Peer: peer, Key: key, Role: connect.InitiatorRole}
	if from == FromResponder {
		check.Role, check.Nonce = connect.ResponderRole, j.nonce
	} else {
		j.nonce = f.TextOf("nonce")
	}
	return connect.VerifyHello(f.Text, check)
}

// compare signs the envelope again and finds the first byte that differs.
func (l *Line) compare(id *connect.Identity, kind connect.EnvelopeKind, f wire.Frame) error {
	signed, err := id.SignEnvelope(kind, f.Text)
	if err != nil {
		return err
	}
	recorded, err := withoutExtensions(f.Text)
	if err != nil {
		return err
	}
	again, err := withoutExtensions(signed)
	if err != nil || recorded == again {
		return err
	}
	n := diff.First(recorded, again)
	l.Difference = &Difference{Byte: n, Recorded: around(recorded, n), Signed: around(again, n)}
	return fmt.Errorf("signing it again gives other bytes, the first at %d: recorded %q, signed %q", n, l.Difference.Recorded, l.Difference.Signed)
}

// withoutExtensions returns the canonical text of an envelope without its extensions.
func withoutExtensions(text json.RawMessage) (string, error) {
	f, err := wire.Parse(text)
	if err != nil {
		return "", err
	}
	delete(f.Members, "extensions")
	rest, err := json.Marshal(f.Members)
	if err != nil {
		return "", err
	}
	canonical, err := connect.Canonicalize(rest)
	return string(canonical), err
}

// around returns the text next to byte n.
func around(text string, n int) string {
	const before, after = 12, 24
	return text[min(len(text), max(0, n-before)):min(len(text), n+after)]
}
