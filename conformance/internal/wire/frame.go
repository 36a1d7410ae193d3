package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Frame is an envelope: its text and its members, as they are spelled.
type Frame struct {
	Text    json.RawMessage
	Members map[string]json.RawMessage
}

// Parse reads a frame. Text that is no JSON object is an error.
func Parse(text []byte) (Frame, error) {
	members, err := membersOf(text)
	if err != nil {
		return Frame{}, fmt.Errorf("a frame that is no envelope: %w", err)
	}
	return Frame{Text: text, Members: members}, nil
}

func membersOf(text []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(text, &members)
	return members, err
}

func frameOf(members map[string]json.RawMessage) (Frame, error) {
	text, err := json.Marshal(members)
	return Frame{Text: text, Members: members}, err
}

// TextOf returns a member that is a text, "" for any other.
func (f Frame) TextOf(name string) string {
	var text string
	if json.Unmarshal(f.Members[name], &text) != nil {
		return ""
	}
	return text
}

// Number returns a member that is a number, and whether it is one.
func (f Frame) Number(name string) (float64, bool) {
	var n *float64
	err := json.Unmarshal(f.Members[name], &n)
	if err != nil || n == nil {
		return 0, false
	}
	return *n, true
}

// Has reports whether the frame has a member.
func (f Frame) Has(name string) bool { _, ok := f.Members[name]; return ok }

// IsRequest reports whether the frame is a request by its shape.
func (f Frame) IsRequest() bool { return f.Has("op") && f.Has("payload") && f.Has("request_id") }

// Echo returns what an answer repeats of a request.
func (f Frame) Echo() Object {
	return Object{"session_id": f.Members["session_id"], "sequence": f.Members["sequence"], "request_id": f.Members["request_id"]}
}

// Outcome says what an answer tells: "success", or the error's "code" or "code/kind".
func (f Frame) Outcome() string {
	if !f.Has("error") {
		return "success"
	}
	var failure spoke.ErrorEnvelope
	if err := json.Unmarshal(f.Members["error"], &failure); err != nil {
		return "an error that cannot be read"
	}
	if kind, ok := failure.Details[spoke.DetailKind].(string); ok {
		return failure.Code + "/" + kind
	}
	return failure.Code
}

// Verify judges the answer to a request of p's: it echoes the request's id and sequence,
// verifies by the other peer's key, and carries this session's id, whatever the request
// carried.
func (p *Peer) Verify(request, answer Frame) error {
	if id := answer.TextOf("request_id"); id != request.TextOf("request_id") {
		return fmt.Errorf("request_id is %q, not %s", id, request.Members["request_id"])
	}
	asked, _ := request.Number("sequence")
	if told, ok := answer.Number("sequence"); !ok || told != asked {
		return fmt.Errorf("sequence is %s, not %s", answer.Members["sequence"], request.Members["sequence"])
	}
	return p.VerifyBound(connect.ResponseEnvelope, answer)
}

// VerifyBound judges the signature of the other peer and the session of an envelope.
func (p *Peer) VerifyBound(kind connect.EnvelopeKind, f Frame) error {
	key, err := p.Remote.PublicKey()
	if err != nil {
		return err
	}
	return connect.VerifyEnvelope(kind, f.Text, key, p.SessionID)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func quote(text string) json.RawMessage {
	b, err := json.Marshal(text)
	if err != nil { // a Go string always has a JSON text
		return json.RawMessage(`""`)
	}
	return b
}
