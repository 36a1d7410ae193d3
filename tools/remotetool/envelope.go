package remotetool

import (
	"encoding/json"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/spoke-peer/spoke-go/internal/jcs"
)

// maxDepth is how deep arrays and objects nest in a message.
//
// Source: remote tool spec, section 1.
const maxDepth = 256

// maxValueDepth is how deep they nest in a result and in the details of an error. Those
// of a batch's evidence inside a SPOKE session stand in eight others, and what can be
// sent shall not depend on where it stands.
const maxValueDepth = maxDepth - 8

// Capability is what a message is about, and what a SPOKE peer must have negotiated to
// send requests inside a session.
const Capability = "tool.exec"

// The requests and their answers.
//
// Source: remote tool spec, section 1.
const (
	TypeQuery       = "tool.query"
	TypeCall        = "tool.call"
	TypeBatch       = "tool.batch"
	TypeCatalog     = "tool.catalog"
	TypeResult      = "tool.result"
	TypeBatchResult = "tool.batch.result"
	TypeError       = "tool.error"
)

const typePrefix = "tool."

// isRequest reports a type that asks.
func isRequest(kind string) bool { return kind == TypeQuery || kind == TypeCall || kind == TypeBatch }

// isAnswer reports a type that answers, and so is never answered.
func isAnswer(kind string) bool {
	return kind == TypeCatalog || kind == TypeResult || kind == TypeBatchResult || kind == TypeError
}

// envelope is one message.
//
// Source: remote tool spec, section 1.
type envelope struct {
	kind      string
	id        string
	replyTo   string
	sessionID string
	payload   json.RawMessage // nil for null and absent
}

// parseEnvelope judges one text. It is not ours when it is no JSON object, names another
// capability or has no type of ours. Otherwise the envelope holds what could be read,
// and fault is why a request of this kind cannot be served.
func parseEnvelope(text []byte) (e envelope, ours bool, fault *Error) {
	m := make(members)
	err := jcs.Split(text, maxDepth, jcs.VisitFunc(func(name []byte, value jcs.Member) { m[string(name)] = value.Value }))
	if err != nil {
		return salvage(text, err)
	}
	if !m.ownCapability() {
		return envelope{}, false, nil
	}
	var known bool
	if e.kind, known = textOf(m["type"]); !known || !strings.HasPrefix(e.kind, typePrefix) {
		return envelope{}, false, nil
	}
	e.payload = present(m["payload"])
	for _, member := range []struct {
		name     string
		to       *string
		required bool
	}{{"id", &e.id, true}, {"replyTo", &e.replyTo, false}, {"sessionId", &e.sessionID, false}, {"sentAt", new(string), false}} {
		value := present(m[member.name])
		text, ok := textOf(value)
		if value != nil && !ok || member.required && strings.TrimSpace(text) == "" {
			fault = errorf(CodeInvalidRequest, "%s is missing or no text", member.name)
			continue
		}
		*member.to = text
	}
	return e, true, fault
}

// salvage reads what it can of an object that breaks a rule of JSON text that this
// library holds peers to, so that the requester is told instead of waiting.
func salvage(text []byte, err error) (envelope, bool, *Error) {
	var head struct {
		Type       json.RawMessage `json:"type"`
		ID         json.RawMessage `json:"id"`
		SessionID  json.RawMessage `json:"sessionId"`
		Capability json.RawMessage `json:"capability"`
	}
	// Unlike encoding/json it holds names to their case.
	lenient := jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if jsonv2.Unmarshal(text, &head, lenient) != nil {
		return envelope{}, false, nil
	}
	m := members{"capability": head.Capability}
	kind, _ := textOf(head.Type)
	if !m.ownCapability() || !isRequest(kind) {
		return envelope{}, false, nil
	}
	e := envelope{kind: kind}
	e.id, _ = textOf(head.ID)
	e.sessionID, _ = textOf(head.SessionID)
	return e, true, errorf(CodeInvalidRequest, "the message is refused: %w", err)
}

// ownCapability reports whether the message is about tools.
func (m members) ownCapability() bool {
	value := present(m["capability"])
	capability, ok := textOf(value)
	return value == nil || ok && capability == Capability
}

// answer returns the envelope of an answer.
func (e envelope) answer(kind string, payload json.RawMessage) envelope {
	a := envelope{kind: kind, id: "tool.invalid.response", replyTo: e.id, sessionID: e.sessionID, payload: payload}
	if e.id != "" {
		a.id = e.id + ".response"
	}
	return a
}

// text returns the message as it is sent.
func (e envelope) text(now time.Time) []byte {
	dst := make([]byte, 0, len(e.payload)+256)
	dst = appendText(append(dst, '{'), "type", e.kind)
	dst = appendText(dst, "id", e.id)
	dst = appendOptional(dst, "replyTo", e.replyTo)
	dst = appendOptional(dst, "sessionId", e.sessionID)
	dst = appendText(dst, "sentAt", stamp(now))
	dst = appendText(dst, "capability", Capability)
	if e.payload != nil {
		dst = appendRaw(dst, "payload", e.payload)
	}
	return append(dst, '}')
}

// stamp is a moment in RFC 3339, UTC, with milliseconds.
func stamp(now time.Time) string { return now.UTC().Format("2006-01-02T15:04:05.000Z") }
