package connect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestFramesThatAreNoEnvelopeAreIgnored(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		honest := func(change func(doc object)) json.RawMessage {
			return edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), change)
		}
		for name, frame := range map[string]json.RawMessage{
			"an empty object":             raw(`{}`),
			"a list":                      raw(`[]`),
			"null":                        raw(`null`),
			"text":                        raw(`"x"`),
			"a number":                    raw(`5`),
			"an unknown object":           raw(`{"hello":"world"}`),
			"a session id that is a list": honest(func(d object) { d["session_id"] = []int{} }),
			"a long session id":           honest(func(d object) { d["session_id"] = strings.Repeat("s", 129) }),
			"a long request id":           honest(func(d object) { d["request_id"] = strings.Repeat("s", 129) }),
			"an op that is null":          honest(func(d object) { d["op"] = nil }),
			"a long op":                   honest(func(d object) { d["op"] = strings.Repeat("o", 257) }),
			"a sequence that is text":     honest(func(d object) { d["sequence"] = "0" }),
			"a negative sequence":         honest(func(d object) { d["sequence"] = -1 }),
			"a fractional sequence":       honest(func(d object) { d["sequence"] = 0.5 }),
			"a sequence above 2^53-1":     honest(func(d object) { d["sequence"] = 9007199254740992 }),
			"an op without a payload":     honest(func(d object) { delete(d, "payload") }),
			"a response nobody waits for": honest(func(d object) { delete(d, "op") }),
		} {
			p.send(frame)
			p.requireWorks()
			assert.Equal(t, connect.Established, s.State(), name)
		}
	})
}

func TestASequenceOfTheSameValueIsTheSameSequence(t *testing.T) {
	eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		p.requireWorks()
		frame := p.sign(connect.RequestEnvelope, p.toolRequest(echoTool))
		sent := strings.Replace(string(frame), `"sequence":1`, `"sequence": 10.0e-1`, 1)
		require.NotEqual(t, string(frame), sent)
		p.sequence++
		p.send(json.RawMessage(sent))
		require.NotNil(t, p.recv()["payload"])
	})
}

func TestAMalformedFrameEndsTheSession(t *testing.T) {
	for name, frame := range map[string]string{
		"no JSON":            `hello`,
		"a duplicate name":   `{"a":1,"a":1}`,
		"invalid UTF-8":      "{\"a\":\"\xff\"}",
		"a lone surrogate":   `{"a":"\udfff"}`,
		"an infinite number": `{"a":1e999}`,
		"too deep":           strings.Repeat("[", 257) + strings.Repeat("]", 257),
		"text behind it":     `{}{}`,
		"nothing":            ``,
		"too large":          `{"a":"` + strings.Repeat("x", 4<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			eachRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
				waiting := make(chan error, 1)
				go func() { _, err := s.InvokeTool(t.Context(), otherTool, nil); waiting <- err }()
				p.recv()
				p.send(json.RawMessage(frame))
				assert.ErrorIs(t, s.Wait(), connect.ErrMalformedFrame)
				assert.Equal(t, spoke.KindSessionClosed, spoke.KindOf(<-waiting))
				_, err := p.transport.Recv(t.Context())
				assert.Error(t, err, "the transport is closed")
			})
		})
	}
}
