package spoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
)

// roundTrip decodes text into a T and encodes it again.
func roundTrip[T any](t *testing.T, text string) string {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func TestRoundTripsLoseNothing(t *testing.T) {
	for name, text := range map[string]string{
		"the least":                     `{"schema_version":1,"host_id":"h","roles":["r"],"capabilities":["c"],"namespaces":["n"],"extensions":{}}`,
		"no tools are not absent tools": `{"schema_version":1,"host_id":"h","roles":[],"capabilities":[],"namespaces":[],"extensions":{},"tools":[]}`,
		"number text in extensions":     `{"schema_version":1,"host_id":"h","roles":[],"capabilities":[],"namespaces":[],"extensions":{"x":{"n":1.50,"big":9007199254740993,"e":1e2}}}`,
		"unknown members, null included": `{"schema_version":1,"host_id":"h","roles":[],"capabilities":[],"namespaces":[],
			"authority":{"scope_key":"k","later":[1]},"extensions":{},
			"tools":[{"schema_version":1,"capability_id":"a","op":"a","description":"d","input":{"x":1.0},"output":{},"idempotent":false,"later":null}],
			"later":{"b":1,"a":null},"none":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			assert.JSONEq(t, text, roundTrip[spoke.HostCapabilityManifest](t, text))
			assert.Equal(t, roundTrip[spoke.HostCapabilityManifest](t, text),
				roundTrip[spoke.HostCapabilityManifest](t, roundTrip[spoke.HostCapabilityManifest](t, text)))
		})
	}
	assert.Contains(t, roundTrip[spoke.HostCapabilityManifest](t, `{"extensions":{"x":{"n":1.50,"big":9007199254740993}}}`), `{"n":1.50,"big":9007199254740993}`)
	envelope := `{"code":"c","message":"m","details":{"a":[1,null,{"b":true}]},"extensions":{"x":{}},"later":1}`
	assert.JSONEq(t, envelope, roundTrip[spoke.ErrorEnvelope](t, envelope))
}

func TestTheZeroManifestEncodesListsAndMapsAsEmpty(t *testing.T) {
	out, err := json.Marshal(spoke.HostCapabilityManifest{Tools: []spoke.ToolDescriptor{{}}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"schema_version":0,"host_id":"","roles":[],"capabilities":[],"namespaces":[],"extensions":{},
		"tools":[{"schema_version":0,"capability_id":"","op":"","description":"","input":{},"output":{}}]}`, string(out))
}

func TestAFailedDecodeChangesNothing(t *testing.T) {
	m := spoke.HostCapabilityManifest{HostID: "before", Unknown: map[string]json.RawMessage{"x": json.RawMessage("1")}}
	for _, text := range []string{`{"host_id":"after","roles":7}`, `{"host_id":"a","host_id":"b"}`, `[]`, `{`} {
		assert.Error(t, json.Unmarshal([]byte(text), &m), text)
		assert.Equal(t, "before", m.HostID)
	}
	require.NoError(t, json.Unmarshal([]byte(`{"host_id":"after"}`), &m))
	assert.Empty(t, m.Unknown, "members of an earlier value do not shine through")
}

// The mapping of wire spec, section 9, code by code.
func TestTheErrorEnvelopeMapping(t *testing.T) {
	details := map[string]any{"a": 1.0}
	rows := map[string]struct {
		code spoke.Code
		want map[string]any
	}{
		"op_unsupported":     {spoke.CodeCapabilityPortMissing, map[string]any{"a": 1.0, "wire_code": "op_unsupported"}},
		"capability_missing": {spoke.CodeCapabilityPortMissing, map[string]any{"a": 1.0, "wire_code": "capability_missing"}},
		"auth_failed":        {spoke.CodeInternalError, details},
		"invalid_sequence":   {spoke.CodeInvalidInput, map[string]any{"wire_code": "invalid_sequence"}},
		"something_else":     {spoke.CodeInvalidInput, map[string]any{"wire_code": "something_else"}},
		"":                   {spoke.CodeInvalidInput, map[string]any{"wire_code": ""}},
		"invalid_input":      {spoke.CodeInvalidInput, map[string]any{"wire_code": "invalid_input"}},
	}
	for _, code := range spoke.Codes() {
		rows[string(code)] = struct {
			code spoke.Code
			want map[string]any
		}{code, details}
	}
	require.Len(t, rows, 23+7)
	for wire, row := range rows {
		r := spoke.ErrorEnvelope{Code: wire, Message: "m", Details: details}.Reject()
		assert.Equal(t, row.code, r.Code, wire)
		assert.Equal(t, row.want, r.Details, wire)
		assert.Equal(t, "m", r.Message)
		assert.True(t, r.Remote())
	}
	assert.Equal(t, map[string]any{"a": 1.0}, details, "the peer's details are not changed")
}

func TestARejectSurvivesTheWire(t *testing.T) {
	for _, code := range spoke.Codes() {
		sent := spoke.Rejectf(code, "message of %s", code).WithDetail("entry_id", "x").WithKind("k")
		data, err := json.Marshal(sent.Envelope())
		require.NoError(t, err)
		var e spoke.ErrorEnvelope
		require.NoError(t, json.Unmarshal(data, &e))
		got := e.Reject()
		assert.Equal(t, sent.Code, got.Code)
		assert.Equal(t, sent.Message, got.Message)
		assert.Equal(t, sent.Details, got.Details)
	}
	for _, code := range []spoke.Code{"", "auth_failed", "invalid_sequence", "of_an_application"} {
		assert.Equal(t, "INTERNAL_ERROR", (&spoke.Reject{Code: code}).Envelope().Code, "%q", code)
	}
}

func TestRejectsAreErrorsWithACauseAndACode(t *testing.T) {
	r := spoke.Rejectf(spoke.CodeInternalError, "gave up: %w", context.Canceled).WithKind(spoke.KindCanceled)
	wrapped := fmt.Errorf("outer: %w", r)
	assert.ErrorIs(t, wrapped, context.Canceled)
	assert.Equal(t, spoke.CodeInternalError, spoke.CodeOf(wrapped))
	assert.Equal(t, spoke.KindCanceled, spoke.KindOf(wrapped))
	assert.Equal(t, "INTERNAL_ERROR (canceled): gave up: context canceled", r.Error())
	assert.False(t, r.Remote())

	assert.Equal(t, spoke.Code(""), spoke.CodeOf(nil))
	assert.Equal(t, spoke.CodeInternalError, spoke.CodeOf(errors.New("plain")))
	assert.Empty(t, spoke.KindOf(errors.New("plain")))
	assert.Equal(t, spoke.CodeInternalError, spoke.CodeOf((*spoke.Reject)(nil)), "a mistake, but no reason to panic")
	assert.Empty(t, spoke.KindOf((*spoke.Reject)(nil)))

	a := spoke.Rejectf(spoke.CodeInvalidInput, "m").WithDetail("a", 1)
	b := a.WithDetail("b", 2)
	assert.Equal(t, map[string]any{"a": 1}, a.Details, "WithDetail leaves the original alone")
	assert.Equal(t, map[string]any{"a": 1, "b": 2}, b.Details)
}

func ExampleCodeOf() {
	err := fmt.Errorf("look up: %w", spoke.Rejectf(spoke.CodeKnowledgeEntryNotFound, "no entry %q", "compass"))
	switch spoke.CodeOf(err) {
	case spoke.CodeKnowledgeEntryNotFound:
		fmt.Println("not there:", err)
	default:
		fmt.Println(err)
	}
	// Output: not there: look up: KNOWLEDGE_ENTRY_NOT_FOUND: no entry "compass"
}
