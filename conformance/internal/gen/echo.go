package main

import "encoding/json"

// invocation is a session in which the peer under test invokes the tool once and then
// again, and the answers that it gets to the first.
type invocation struct {
	Name    string  `json:"name"`
	Answers []reply `json:"answers"`
	Result  outcome `json:"result"`
	// Usable tells whether the second invoke, answered honestly, succeeds.
	Usable bool `json:"usable"`
}

// reply is one answer. Without members it is honest: the echo and {"result":{"n":1}}.
type reply struct {
	// Set replaces members before the answer is signed.
	Set map[string]any `json:"set,omitempty"`
	// Drop leaves members out before the answer is signed.
	Drop []string `json:"drop,omitempty"`
	// Change is done to the frame after it was signed.
	Change string `json:"change,omitempty"`
}

// outcome is what the caller sees.
type outcome struct {
	OK      bool           `json:"ok"`
	Code    string         `json:"code,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

func rejects(code string, details map[string]any) outcome {
	return outcome{Code: code, Details: details}
}

func internal(kind string) outcome { return rejects("INTERNAL_ERROR", map[string]any{"kind": kind}) }

func setting(name string, value any) reply { return reply{Set: map[string]any{name: value}} }

// failing is an answer with an error.
func failing(code string, details map[string]any) reply {
	e := map[string]any{"code": code, "message": "no", "extensions": map[string]any{}}
	if details != nil {
		e["details"] = details
	}
	return reply{Set: map[string]any{"error": e}, Drop: []string{"payload"}}
}

func echo() file {
	return file{
		group: "echo", rule: "wire spec, sections 5 and 9",
		about: "answers to an invoke at sequence 0, and what its caller sees: an answer must echo its request and then verify",
		lists: []list{listOf("cases", append(answerCases(), failureCases()...))},
	}
}

func answerCases() []invocation {
	honest := reply{}
	one := func(name string, r reply, o outcome) invocation {
		return invocation{name, []reply{r}, o, true}
	}
	ok := outcome{OK: true}
	return []invocation{
		one("an honest answer", honest, ok),
		one("a sequence of the same value", setting("sequence", json.RawMessage(`0.0`)), ok),
		one("extensions that nobody signed", reply{Change: "extensions"}, ok),
		one("another sequence", setting("sequence", 1), internal("correlation_mismatch")),
		one("the session id of another session", setting("session_id", "another-session"), internal("correlation_mismatch")),
		one("an empty session id", setting("session_id", ""), internal("correlation_mismatch")),
		one("another sequence and a forged signature: the echo is judged first", reply{Set: map[string]any{"sequence": 1}, Change: "other_key"}, internal("correlation_mismatch")),
		one("another session and no signature: the echo is judged first", reply{Set: map[string]any{"session_id": "x"}, Change: "no_signature"}, internal("correlation_mismatch")),
		one("no signature", reply{Change: "no_signature"}, internal("envelope_auth_missing")),
		one("an empty signature", reply{Change: "empty_signature"}, internal("envelope_auth_missing")),
		one("a signature by another key", reply{Change: "other_key"}, internal("envelope_auth_invalid")),
		one("a padded signature", reply{Change: "padded_signature"}, internal("envelope_auth_invalid")),
		one("a payload exchanged after signing", reply{Change: "payload"}, internal("envelope_auth_invalid")),
		one("an error added after signing", reply{Change: "error"}, internal("envelope_auth_invalid")),
		one("an unknown member", reply{Change: "unknown_member"}, internal("envelope_auth_invalid")),
		{"the answer to another request comes first and is dropped", []reply{setting("request_id", "00000000-0000-4000-8000-00000000ffff"), honest}, ok, true},
		{"a frame without a payload comes first and is ignored", []reply{{Drop: []string{"payload"}}, honest}, ok, true},
		{"a second answer to the same request is dropped", []reply{honest, setting("payload", map[string]any{"result": 2})}, ok, true},
		{"an honest answer behind a forged one comes too late", []reply{{Change: "other_key"}, honest}, internal("envelope_auth_invalid"), true},
		one("a success without a result", setting("payload", map[string]any{"value": 1}), internal("transport")),
		one("a success that is null", setting("payload", nil), internal("transport")),
		one("a success that is a list", setting("payload", []any{1}), internal("transport")),
	}
}

func failureCases() []invocation {
	one := func(name string, r reply, o outcome) invocation {
		return invocation{name, []reply{r}, o, true}
	}
	closing := func(name string, r reply, o outcome) invocation {
		return invocation{name, []reply{r}, o, false}
	}
	kind := func(k string) map[string]any { return map[string]any{"kind": k} }
	return []invocation{
		one("op_unsupported", failing("op_unsupported", nil), rejects("CAPABILITY_PORT_MISSING", map[string]any{"wire_code": "op_unsupported"})),
		one("capability_missing with details", failing("capability_missing", map[string]any{"op": "x"}), rejects("CAPABILITY_PORT_MISSING", map[string]any{"op": "x", "wire_code": "capability_missing"})),
		one("a code of the protocol keeps its details", failing("KNOWLEDGE_ENTRY_NOT_FOUND", map[string]any{"entry_id": "e"}), rejects("KNOWLEDGE_ENTRY_NOT_FOUND", map[string]any{"entry_id": "e"})),
		one("INVALID_INPUT", failing("INVALID_INPUT", map[string]any{"field": "arguments"}), rejects("INVALID_INPUT", map[string]any{"field": "arguments"})),
		one("INTERNAL_ERROR", failing("INTERNAL_ERROR", kind("overloaded")), rejects("INTERNAL_ERROR", kind("overloaded"))),
		one("a code that nobody knows loses its details", failing("made_up", map[string]any{"a": 1}), rejects("INVALID_INPUT", map[string]any{"wire_code": "made_up"})),
		one("a refused token leaves the session usable", failing("auth_failed", kind("token_invalid")), rejects("INTERNAL_ERROR", kind("token_invalid"))),
		closing("invalid_sequence ends the session", failing("invalid_sequence", nil), rejects("INVALID_INPUT", map[string]any{"wire_code": "invalid_sequence"})),
		closing("a refused signature ends the session", failing("auth_failed", kind("envelope_auth_invalid")), rejects("INTERNAL_ERROR", kind("envelope_auth_invalid"))),
		closing("a refused session id ends the session", failing("auth_failed", kind("envelope_auth_session_unbound")), rejects("INTERNAL_ERROR", kind("envelope_auth_session_unbound"))),
		one("a forged invalid_sequence ends nothing", reply{Set: failing("invalid_sequence", nil).Set, Drop: []string{"payload"}, Change: "other_key"}, internal("envelope_auth_invalid")),
		one("an error that is null", reply{Set: map[string]any{"error": nil}, Drop: []string{"payload"}}, internal("transport")),
		one("an error that is a text", reply{Set: map[string]any{"error": "no"}, Drop: []string{"payload"}}, internal("transport")),
		one("an error whose code is a number", reply{Set: map[string]any{"error": map[string]any{"code": 1, "message": "", "extensions": map[string]any{}}}, Drop: []string{"payload"}}, internal("transport")),
	}
}
