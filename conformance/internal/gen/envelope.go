package main

import (
	"encoding/json"
	"fmt"
)

// signCase is what is signed and the envelope that comes of it.
type signCase struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	Unsigned json.RawMessage `json:"unsigned"`
	JCS      string          `json:"jcs_hex"`
	Envelope json.RawMessage `json:"envelope"`
}

// verifyCase is an envelope and what a verifier decides.
type verifyCase struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	Bound    string          `json:"bound_session_id"`
	Envelope json.RawMessage `json:"envelope"`
	Result   verdict         `json:"result"`
}

type verdict struct {
	OK   bool   `json:"ok"`
	Kind string `json:"kind,omitempty"`
}

var (
	verifies = verdict{OK: true}
	invalid  = verdict{Kind: "envelope_auth_invalid"}
)

const sessionID = "11111111-2222-4333-8444-555555555555"

// envelopeText is an envelope of a kind around a body: the payload of a request or a
// success, the error of a failure. Members are in canonical order.
func envelopeText(kind string, n int, body string) string {
	tail := fmt.Sprintf(`"request_id":"%s","sequence":%d,"session_id":"%s"}`, requestID(n), n, sessionID)
	switch kind {
	case "failure":
		return `{"error":` + body + `,` + tail
	case "request":
		return `{"op":"tools.conformance.echo","payload":` + body + `,` + tail
	default:
		return `{"payload":` + body + `,` + tail
	}
}

func requestID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// wireKind is the kind as envelopes are named: a failure is a response.
func wireKind(kind string) string {
	if kind == "request" {
		return kind
	}
	return "response"
}

// signBody is a case that signs a body as it is spelled.
func signBody(k key, name, kind string, n int, spelled, canonical string) signCase {
	text := envelopeText(kind, n, canonical)
	return signCase{
		Name:     name,
		Kind:     wireKind(kind),
		Unsigned: json.RawMessage(envelopeText(kind, n, spelled)),
		JCS:      hexOf(text),
		Envelope: json.RawMessage(k.seal(text)),
	}
}

// body is a payload as it is spelled and in canonical form.
type body struct{ name, spelled, canonical string }

// shapes are payloads of every JSON shape.
func shapes() []body {
	return []body{
		{"null", `null`, `null`},
		{"true", `true`, `true`},
		{"false", `false`, `false`},
		{"zero", `0`, `0`},
		{"a negative number", `-17`, `-17`},
		{"a fraction", `0.50`, `0.5`},
		{"a large number", `1e21`, `1e+21`},
		{"an empty text", `""`, `""`},
		{"a text", `"harbor"`, `"harbor"`},
		{"a text with escapes", `"\u00e9\u000a\/"`, `"é\n/"`},
		{"an empty list", `[]`, `[]`},
		{"a list of null", `[null]`, `[null]`},
		{"a list of every shape", `[null,true,1,"x",[],{}]`, `[null,true,1,"x",[],{}]`},
		{"nested lists", `[[[[]]],[[]]]`, `[[[[]]],[[]]]`},
		{"an empty object", `{}`, `{}`},
		{"an object with a null member", `{"a":null}`, `{"a":null}`},
		{"members out of order", `{"b":2,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":2}`},
		{"arguments", `{"arguments":{"sides":6,"count":2}}`, `{"arguments":{"count":2,"sides":6}}`},
		{"a result that is null", `{"result":null}`, `{"result":null}`},
		{"members that envelopes have", `{"signature":"x","extensions":{"a":1},"op":"y"}`, `{"extensions":{"a":1},"op":"y","signature":"x"}`},
		{"an empty name", `{"":{"":[]}}`, `{"":{"":[]}}`},
		{"characters outside the BMP", `{"\uffee":"😀","😀":"\uffee"}`, "{\"😀\":\"\uffee\",\"\uffee\":\"😀\"}"},
	}
}

// failures are error members.
func failures() []body {
	return []body{
		{"an error without details", `{"code":"op_unsupported","message":"no","extensions":{}}`, `{"code":"op_unsupported","extensions":{},"message":"no"}`},
		{"an error with details", `{"code":"auth_failed","message":"","details":{"kind":"envelope_auth_invalid"},"extensions":{}}`, `{"code":"auth_failed","details":{"kind":"envelope_auth_invalid"},"extensions":{},"message":""}`},
		{"an error with extensions", `{"code":"X","message":"m","extensions":{"a":{"n":1.0}}}`, `{"code":"X","extensions":{"a":{"n":1}},"message":"m"}`},
		{"an error that is null", `null`, `null`},
	}
}

func payloads() file {
	k := hostKey
	var sign []signCase
	for _, kind := range []string{"request", "success"} {
		for _, b := range shapes() {
			sign = append(sign, signBody(k, kind+": "+b.name, kind, len(sign), b.spelled, b.canonical))
		}
	}
	for _, b := range failures() {
		sign = append(sign, signBody(k, "failure: "+b.name, "failure", len(sign), b.spelled, b.canonical))
	}
	return file{
		group: "payloads", rule: "wire spec, sections 3 and 5",
		about:  "payloads and errors of every JSON shape: signing, and what a verifier takes for the same",
		shared: []member{{"seed_hex", k.seedHex()}, {"pubkey_hex", k.publicHex()}},
		lists:  []list{listOf("sign", sign), listOf("verify", replaced(k))},
	}
}

// replaced are requests whose payload was exchanged after it was signed. One of equal
// canonical text still verifies, any other does not.
func replaced(k key) []verifyCase {
	var cases []verifyCase
	for _, c := range []struct {
		name, signed, sent string
		result             verdict
	}{
		{"1.0 for 1", `1`, `1.0`, verifies},
		{"an escaped letter for the letter", `"A"`, `"\u0041"`, verifies},
		{"members in another order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, verifies},
		{"-0 for 0", `0`, `-0`, verifies},
		{"2^53+1 for 2^53, which is the same double", `9007199254740992`, `9007199254740993`, verifies},
		{"null for an empty object", `{}`, `null`, invalid},
		{"an empty object for null", `null`, `{}`, invalid},
		{"an empty list for an empty object", `{}`, `[]`, invalid},
		{"an empty text for null", `null`, `""`, invalid},
		{"false for 0", `0`, `false`, invalid},
		{"a text for a number", `1`, `"1"`, invalid},
		{"true for a text", `"true"`, `true`, invalid},
		{"a null member added", `{"a":1}`, `{"a":1,"b":null}`, invalid},
		{"a null member removed", `{"a":1,"b":null}`, `{"a":1}`, invalid},
		{"a list in another order", `[1,2]`, `[2,1]`, invalid},
		{"another normal form of a letter", `"é"`, `"e\u0301"`, invalid},
		{"one unit in the last place", `0.1`, `0.10000000000000002`, invalid},
	} {
		signed := envelopeText("request", len(cases), c.signed)
		sent := envelopeText("request", len(cases), c.sent)
		envelope := sent[:len(sent)-1] + `,"signature":"` + k.sign(signed) + `","extensions":{}}`
		cases = append(cases, verifyCase{"request: " + c.name, "request", sessionID, json.RawMessage(envelope), c.result})
	}
	return cases
}
