package main

import "encoding/json"

// script is a session in which the peer under test serves.
type script struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step is one request and what comes back for it.
type step struct {
	// Sequence is the request's sequence as it is spelled.
	Sequence json.RawMessage `json:"sequence,omitempty"`
	// Repeat sends the frame of an earlier step again, counted from 1.
	Repeat int `json:"repeat,omitempty"`
	// Op replaces the op, the echo tool.
	Op string `json:"op,omitempty"`
	// Payload replaces the payload.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Set are further members, signed.
	Set map[string]any `json:"set,omitempty"`
	// Change is done to the frame after it was signed.
	Change string `json:"change,omitempty"`
	// Answer is "success", "code" or "code/kind" of an error, or "none".
	Answer string `json:"answer"`
}

func at(sequence, answer string) step {
	return step{Sequence: json.RawMessage(sequence), Answer: answer}
}

func (s step) changed(change string) step { s.Change = change; return s }
func (s step) to(op string) step          { s.Op = op; return s }

func (s step) with(payload string) step {
	s.Payload = json.RawMessage(payload)
	return s
}

func (s step) set(name string, value any) step {
	s.Set = map[string]any{name: value}
	return s
}

func again(n int, answer string) step { return step{Repeat: n, Answer: answer} }

// Answers of a server.
const (
	success         = "success"
	invalidSequence = "invalid_sequence"
	authInvalid     = "auth_failed/envelope_auth_invalid"
	authMissing     = "auth_failed/envelope_auth_missing"
	authUnbound     = "auth_failed/envelope_auth_session_unbound"
	tokenInvalid    = "auth_failed/token_invalid"
	unsupported     = "op_unsupported"
	invalidInput    = "INVALID_INPUT"
	none            = "none"
)

func sequence() file {
	return file{
		group: "sequence", rule: "wire spec, sections 1, 3 and 5",
		about: "requests to a peer, one after the other, and how it answers each: its counter moves only for a request that verifies",
		lists: []list{listOf("cases", sequenceScripts())},
	}
}

func sequenceScripts() []script {
	return []script{
		{"requests in order are served", []step{at(`0`, success), at(`1`, success), at(`2`, success)}},
		{"the first sequence is 0", []step{at(`1`, invalidSequence), at(`0`, success), at(`1`, success)}},
		{"a gap is refused and moves nothing", []step{at(`0`, success), at(`2`, invalidSequence), at(`1`, success), at(`2`, success)}},
		{"a replayed frame is refused", []step{at(`0`, success), again(1, invalidSequence), at(`1`, success), again(1, invalidSequence), again(3, invalidSequence)}},
		{"a used sequence is refused for a new request", []step{at(`0`, success), at(`0`, invalidSequence), at(`1`, success)}},
		{"two requests that were swapped", []step{at(`1`, invalidSequence), at(`0`, success), again(1, success)}},
		{"the largest sequence is only out of order", []step{at(`9007199254740991`, invalidSequence), at(`0`, success)}},
		{"a sequence counts by value", []step{at(`-0`, success), at(`1.0`, success), at(`2e0`, success), at(`30e-1`, success), at(`4.000`, success)}},
		{"a frame whose sequence is no integer is ignored", []step{
			at(`0`, success), at(`"1"`, none), at(`-1`, none), at(`1.5`, none), at(`9007199254740992`, none), at(`null`, none), at(`[1]`, none), at(`true`, none), at(`1`, success),
		}},
		{"a frame whose ids or op are no texts is ignored", []step{
			at(`0`, none).set("session_id", 1), at(`0`, none).set("op", nil), at(`0`, none).set("request_id", []any{}), at(`0`, success),
		}},
		{"a forged signature moves nothing", []step{at(`0`, authInvalid).changed("other_key"), at(`0`, success), at(`1`, authInvalid).changed("other_key"), at(`1`, success)}},
		{"a missing signature moves nothing", []step{at(`0`, authMissing).changed("no_signature"), at(`0`, authMissing).changed("empty_signature"), at(`0`, success)}},
		{"a signature has one spelling", []step{at(`0`, authInvalid).changed("padded_signature"), at(`0`, success)}},
		{"a payload exchanged after signing moves nothing", []step{at(`0`, authInvalid).changed("payload"), at(`0`, success)}},
		{"an op exchanged after signing moves nothing", []step{at(`0`, authInvalid).changed("op"), at(`0`, success)}},
		{"an auth attached after signing moves nothing", []step{at(`0`, authInvalid).changed("auth"), at(`0`, success)}},
		{"an unknown member moves nothing", []step{at(`0`, authInvalid).changed("unknown_member"), at(`0`, success)}},
		{"extensions are not signed", []step{at(`0`, success).changed("extensions"), at(`1`, success)}},
		{"another session's id moves nothing", []step{at(`0`, authUnbound).set("session_id", "another-session"), at(`0`, success)}},
		{"the sequence is judged before the signature", []step{at(`1`, invalidSequence).changed("other_key"), at(`0`, success)}},
		{"the sequence is judged before the session", []step{at(`1`, invalidSequence).set("session_id", "another-session"), at(`0`, success)}},
		{"the signature is judged before the session", []step{at(`0`, authInvalid).set("session_id", "another-session").changed("other_key"), at(`0`, success)}},
		{"the signature is judged before the op", []step{at(`0`, authInvalid).to("nobody.knows").changed("other_key"), at(`0`, success)}},
		{"an op that nobody knows is refused and moves the counter", []step{at(`0`, unsupported).to("nobody.knows"), at(`0`, invalidSequence), at(`1`, success)}},
		{"a tool that was not negotiated is refused and moves the counter", []step{at(`0`, unsupported).to("tools.conformance.other"), at(`1`, success)}},
		{"a core op without a handler is refused", []step{at(`0`, unsupported).to("check"), at(`1`, unsupported).to("compute"), at(`2`, success)}},
		{"arguments that are no object are refused and move the counter", []step{
			at(`0`, invalidInput).with(`{"arguments":[]}`), at(`1`, invalidInput).with(`{"arguments":null}`), at(`2`, invalidInput).with(`{}`),
			at(`3`, invalidInput).with(`[]`), at(`4`, invalidInput).with(`null`), at(`5`, success),
		}},
		{"a token that nobody asked for is judged and moves the counter", []step{
			at(`0`, tokenInvalid).set("auth", nil), at(`1`, tokenInvalid).set("auth", map[string]any{"v": 1}), at(`2`, success),
		}},
		{"a token is judged before the op", []step{at(`0`, tokenInvalid).set("auth", nil).to("nobody.knows"), at(`1`, success)}},
	}
}
