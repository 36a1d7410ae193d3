package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

func request(t testing.TB) (*connect.Identity, wire.Frame) {
	t.Helper()
	id, err := wire.Stranger()
	require.NoError(t, err)
	p := wire.Peer{ID: id, SessionID: "s"}
	doc := p.Request(0, "op", json.RawMessage(`{"n":1.50}`))
	doc["sequence"] = json.RawMessage(`0.0`)
	f, err := wire.Sign(id, doc)
	require.NoError(t, err)
	return id, f
}

func TestASignedFrameKeepsItsSpellingAndVerifies(t *testing.T) {
	id, f := request(t)
	assert.Equal(t, `0.0`, string(f.Members["sequence"]))
	assert.Equal(t, `{"n":1.50}`, string(f.Members["payload"]))
	require.NoError(t, connect.VerifyEnvelope(connect.RequestEnvelope, f.Text, id.PublicKey(), "s"))
	assert.True(t, f.IsRequest())
}

func TestEveryChangeButTwoBreaksTheEnvelope(t *testing.T) {
	_, f := request(t)
	id, err := connect.GenerateIdentity()
	require.NoError(t, err)
	f, err = wire.Sign(id, wire.Object{
		"session_id": "s", "sequence": 0, "request_id": "r", "op": "op", "payload": json.RawMessage(f.Members["payload"]),
	})
	require.NoError(t, err)
	for name, kind := range map[string]bool{
		"": true, "extensions": true, "other_key": false, "no_signature": false, "empty_signature": false, "number_signature": false,
		"padded_signature": false, "payload": false, "op": false, "auth": false, "error": false, "unknown_member": false,
	} {
		changed, err := wire.Change(f, name)
		require.NoError(t, err)
		err = connect.VerifyEnvelope(connect.RequestEnvelope, changed.Text, id.PublicKey(), "s")
		assert.Equal(t, kind, err == nil, "%s: %v", name, err)
	}
	_, err = wire.Change(f, "made up")
	assert.Error(t, err)
}

func TestWhatAnAnswerTells(t *testing.T) {
	for text, want := range map[string]string{
		`{"payload":null}`:                              "success",
		`{"error":{"code":"X"}}`:                        "X",
		`{"error":{"code":"X","details":{"kind":"k"}}}`: "X/k",
		`{"error":"no"}`:                                "an error that cannot be read",
	} {
		f, err := wire.Parse([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, f.Outcome(), text)
	}
	_, err := wire.Parse([]byte(`[]`))
	assert.Error(t, err)
}

func TestCapabilitiesOfTheWrongTypeCountAsAbsent(t *testing.T) {
	for host, want := range map[string][]string{
		`{"capabilities":["a",1,"b",null,["c"]]}`: {"a", "b"},
		`{"capabilities":["b","a"],"roles":7}`:    {"b", "a"},
		`{"capabilities":{"a":1}}`:                nil,
		`{"capabilities":"a"}`:                    nil,
		`{"capabilities":null}`:                   nil,
		`{}`:                                      nil,
		`["a"]`:                                   nil,
	} {
		f, err := wire.Parse([]byte(`{"host":` + host + `}`))
		require.NoError(t, err)
		assert.Equal(t, want, wire.Capabilities(f), host)
	}
	assert.Nil(t, wire.Capabilities(wire.Frame{}))
}
