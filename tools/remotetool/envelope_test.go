package remotetool

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAMessageIsAnsweredOrNotAsTheSpecSays(t *testing.T) {
	p := providerOf(t, jsonEcho())
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, c := range []struct{ name, message, code, replyTo string }{
		{"no JSON", `{"type":"tool.query","id":"1"`, "", ""},
		{"no object", `["tool.query"]`, "", ""},
		{"an empty message", ``, "", ""},
		{"null", `null`, "", ""},
		{"another capability", `{"type":"tool.query","id":"1","capability":"tool.other"}`, "", ""},
		{"another case of the capability", `{"type":"tool.query","id":"1","capability":"Tool.Exec"}`, "", ""},
		{"a capability that is no text", `{"type":"tool.query","id":"1","capability":1}`, "", ""},
		{"no type", `{"id":"1"}`, "", ""},
		{"a type of somebody else", `{"type":"ping","id":"1"}`, "", ""},
		{"another case of the type's name", `{"Type":"tool.query","id":"1"}`, "", ""},
		{"a catalog", `{"type":"tool.catalog","id":"1"}`, "", ""},
		{"a result", `{"type":"tool.result","id":"1"}`, "", ""},
		{"a batch's result", `{"type":"tool.batch.result","id":"1"}`, "", ""},
		{"an error, though it is broken", `{"type":"tool.error"}`, "", ""},
		{"an unknown type", `{"type":"tool.cancel","id":"1"}`, "tool_protocol_unknown_type", "1"},
		{"another case of a type", `{"type":"tool.Query","id":"1"}`, "tool_protocol_unknown_type", "1"},
		{"no id", `{"type":"tool.query"}`, "tool_protocol_invalid_request", ""},
		{"a blank id", `{"type":"tool.query","id":" "}`, "tool_protocol_invalid_request", ""},
		{"a null id", `{"type":"tool.query","id":null}`, "tool_protocol_invalid_request", ""},
		{"an id that is a number", `{"type":"tool.query","id":1}`, "tool_protocol_invalid_request", ""},
		{"a session id that is a number", `{"type":"tool.call","id":"7","sessionId":1}`, "tool_protocol_invalid_request", "7"},
		{"a replyTo that is a number", `{"type":"tool.batch","id":"7","replyTo":1}`, "tool_protocol_invalid_request", "7"},
		{"a sentAt that is a number", `{"type":"tool.batch","id":"7","sentAt":1}`, "tool_protocol_invalid_request", "7"},
		{"a name twice", `{"type":"tool.query","id":"7","id":"7"}`, "tool_protocol_invalid_request", "7"},
		{"a name twice and another case of the id", `{"type":"tool.query","id":"7","ID":"8","a":1,"a":2}`, "tool_protocol_invalid_request", "7"},
		{"a name twice and only another case of the id", `{"type":"tool.query","ID":"8","a":1,"a":2}`, "tool_protocol_invalid_request", ""},
		{"a name twice and another case of the type's name", `{"Type":"tool.query","id":"7","a":1,"a":2}`, "", ""},
		{"a name twice and another case of a capability's name", `{"type":"tool.query","id":"7","Capability":"x","a":1,"a":2}`, "tool_protocol_invalid_request", "7"},
		{"too deep", `{"type":"tool.query","id":"7","payload":` + deep + `}`, "tool_protocol_invalid_request", "7"},
		{"too deep and an answer", `{"type":"tool.result","id":"7","payload":` + deep + `}`, "", ""},
		{"too deep and another capability", `{"type":"tool.query","id":"7","capability":"x","payload":` + deep + `}`, "", ""},
		{"a good query", `{"type":"tool.query","id":"7","capability":null,"other":{}}`, "-", "7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := p.HandleMessage(t.Context(), []byte(c.message))
			if c.code == "" {
				assert.Nil(t, got, "%s", got)
				return
			}
			m, err := membersOf(got)
			require.NoError(t, err)
			assert.Equal(t, c.replyTo, text(m, "replyTo"))
			payload, err := membersOf(m["payload"])
			require.NoError(t, err)
			if c.code == "-" {
				assert.Equal(t, TypeCatalog, text(m, "type"))
				return
			}
			assert.Equal(t, TypeError, text(m, "type"))
			assert.Equal(t, c.code, text(payload, "code"))
		})
	}
}

func TestAnAnswerRepeatsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := providerOf(t, jsonEcho())
		got := p.HandleMessage(t.Context(), []byte(`{"type":"tool.call","id":"r 1","sessionId":"s","replyTo":"x","sentAt":"then","payload":{"toolId":"json.echo"}}`))
		assert.JSONEq(t, `{"type":"tool.result","id":"r 1.response","replyTo":"r 1","sessionId":"s","sentAt":"2000-01-01T00:00:00.000Z",
			"capability":"tool.exec","payload":{"toolId":"json.echo","success":true,"result":{}}}`, string(got))
		got = p.HandleMessage(t.Context(), []byte(`{"type":"tool.call","id":"r","sessionId":null,"payload":{"toolId":"json.echo"}}`))
		assert.NotContains(t, string(got), "sessionId")
	})
}

func TestHandleRefusesAPayloadThatIsNoJSON(t *testing.T) {
	p := providerOf(t, jsonEcho())
	for _, payload := range []string{`{`, `{"a":1,"a":2}`, strings.Repeat("[", 257) + strings.Repeat("]", 257)} {
		assert.Equal(t, string(CodeInvalidRequest), text(answerOf(t, p, TypeCall, TypeError, payload), "code"))
	}
	assert.Equal(t, string(CodeUnknownType), text(answerOf(t, p, TypeResult, TypeError, `{}`), "code"))
}
