package main

// probing is a session in which a responder under test invokes the dialer, which has
// said nothing since its hello unless Speaks.
type probing struct {
	Name string `json:"name"`
	// Speaks: the dialer sends an honest request first.
	Speaks bool `json:"speaks,omitempty"`
	// Invokes is how many invokes the peer under test starts at once.
	Invokes int `json:"invokes"`
	// Answer is how the dialer answers the probe.
	Answer *reply `json:"answer,omitempty"`
	// Sends are the ops that leave the peer under test, in order.
	Sends []string `json:"sends"`
	// Result is what every invoke comes to.
	Result outcome `json:"result"`
}

const (
	echoTool  = "tools.conformance.echo"
	probeTool = "tools.spoke.probe"
)

func probe() file {
	ok := outcome{OK: true}
	denied := failing("op_unsupported", nil)
	return file{
		group: "probe", rule: "wire spec, section 4",
		about: "proof of possession: what a responder sends before its first invoke of a dialer that has signed nothing in this session",
		lists: []list{listOf("cases", []probing{
			{Name: "a denied probe proves the peer", Invokes: 1, Answer: &denied, Sends: []string{probeTool, echoTool}, Result: ok},
			{Name: "a served probe proves the peer", Invokes: 1, Answer: &reply{}, Sends: []string{probeTool, echoTool}, Result: ok},
			{Name: "invokes at the same time share one probe", Invokes: 3, Answer: &denied, Sends: []string{probeTool, echoTool, echoTool, echoTool}, Result: ok},
			{Name: "a peer that has spoken needs no probe", Speaks: true, Invokes: 1, Sends: []string{echoTool}, Result: ok},
			{Name: "a probe that somebody else answers stops the invoke", Invokes: 1, Answer: &reply{Change: "other_key"}, Sends: []string{probeTool}, Result: internal("envelope_auth_invalid")},
			{Name: "a probe answered without a signature stops the invoke", Invokes: 1, Answer: &reply{Change: "no_signature"}, Sends: []string{probeTool}, Result: internal("envelope_auth_missing")},
			{Name: "a probe answered for another sequence stops the invoke", Invokes: 1, Answer: &reply{Set: map[string]any{"sequence": 7}}, Sends: []string{probeTool}, Result: internal("correlation_mismatch")},
		})},
	}
}

// agreement is what two peers negotiate. A capabilities member may be anything.
type agreement struct {
	Name       string   `json:"name"`
	Initiator  any      `json:"initiator,omitempty"`
	Responder  any      `json:"responder,omitempty"`
	Negotiated []string `json:"negotiated"`
	// Snapshot is negotiated_capabilities of the session envelope.
	Snapshot []string `json:"snapshot"`
}

// agreed is a case whose snapshot is the negotiated list.
func agreed(name string, initiator, responder []string, negotiated ...string) agreement {
	return agreement{name, initiator, responder, negotiated, negotiated}
}

// nothing is a case in which nothing is negotiated; absent members are nil.
func nothing(name string, initiator, responder any) agreement {
	return agreement{name, initiator, responder, []string{}, []string{"spoke-baseline"}}
}

func negotiation() file {
	base := []string{"spoke-baseline"}
	return file{
		group: "negotiation", rule: "wire spec, section 4",
		about: "the capabilities that two manifests negotiate, in the responder's order; an absent member is left out",
		lists: []list{listOf("cases", []agreement{
			agreed("the same one", base, base, "spoke-baseline"),
			agreed("the responder's order", []string{"a", "b", "c"}, []string{"c", "b", "a"}, "c", "b", "a"),
			agreed("what both have, no more", []string{"a", "b", "x"}, []string{"y", "b", "a"}, "b", "a"),
			agreed("letters count", []string{"Spoke-Baseline", "b"}, []string{"spoke-baseline", "b"}, "b"),
			agreed("tools are capabilities", []string{"spoke-baseline", "tools.a.b"}, []string{"tools.a.b", "spoke-baseline"}, "tools.a.b", "spoke-baseline"),
			agreed("characters outside ASCII", []string{"é", "😀"}, []string{"😀", "é"}, "😀", "é"),
			agreed("text is not normalized", []string{"e\u0301", "b"}, []string{"é", "b"}, "b"),
			agreed("an initiator that lists one twice", []string{"a", "b", "a"}, []string{"b", "a"}, "b", "a"),
			agreed("a responder that lists one twice", []string{"a", "b"}, []string{"b", "a", "b"}, "b", "a"),
			nothing("nothing in common", []string{"a"}, []string{"b"}),
			nothing("an empty list", []string{}, base),
			nothing("no list at all", nil, base),
			nothing("a text instead of a list", "spoke-baseline", base),
			nothing("an object instead of a list", map[string]any{"spoke-baseline": true}, base),
			nothing("a responder without a list", base, nil),
			nothing("a responder with a number", base, 1),
		})},
	}
}

// hellos is a row of hellos that one peer under test judges; it keeps one store of
// nonces for all of them.
type hellos struct {
	Name string `json:"name"`
	// Role of the peer under test. A dialer judges the responder's hellos.
	Role string `json:"role"`
	// Capacity of the store of nonces; 0 is plenty.
	Capacity int         `json:"capacity,omitempty"`
	Hellos   []nonceStep `json:"hellos"`
}

// nonceStep is one hello and how it fares.
type nonceStep struct {
	// Peer is "app" or "other", for a responder under test.
	Peer  string `json:"peer,omitempty"`
	Nonce string `json:"nonce"`
	// Forged hellos are signed by another key.
	Forged bool `json:"forged,omitempty"`
	// Code is why it is refused; accepted without one.
	Code string `json:"code,omitempty"`
}

func nonceReplay() file {
	const a, b, c, replayed, badSignature = "nonce-of-the-first-kind", "nonce-of-the-second-kind", "nonce-of-the-third-kind", "nonce_replayed", "invalid_hello_signature"
	app := func(nonce, code string) nonceStep { return nonceStep{Peer: "app", Nonce: nonce, Code: code} }
	other := func(nonce, code string) nonceStep { return nonceStep{Peer: "other", Nonce: nonce, Code: code} }
	host := func(nonce, code string) nonceStep { return nonceStep{Nonce: nonce, Code: code} }
	forged := func(s nonceStep) nonceStep { s.Forged, s.Code = true, badSignature; return s }
	return file{
		group: "nonce_replay", rule: "wire spec, section 4",
		about: "a hello whose nonce was accepted from that peer before is refused",
		lists: []list{listOf("cases", []hellos{
			{"a nonce is accepted once", "responder", 0, []nonceStep{app(a, ""), app(a, replayed), app(a, replayed)}},
			{"another nonce of the same peer", "responder", 0, []nonceStep{app(a, ""), app(b, ""), app(a, replayed), app(b, replayed)}},
			{"nonces belong to their peer", "responder", 0, []nonceStep{app(a, ""), other(a, ""), app(a, replayed), other(a, replayed)}},
			{"a forged hello burns no nonce", "responder", 0, []nonceStep{forged(app(a, "")), app(a, ""), app(a, replayed)}},
			{"a forged replay is told as forged", "responder", 0, []nonceStep{app(a, ""), forged(app(a, ""))}},
			{"letters count", "responder", 0, []nonceStep{app("Nonce-of-the-first-kind", ""), app(a, "")}},
			{"a full store forgets the oldest", "responder", 2, []nonceStep{app(a, ""), app(b, ""), app(c, ""), app(c, replayed), app(b, replayed), app(a, "")}},
			{"a dialer accepts a responder's nonce once", "dialer", 0, []nonceStep{host(a, ""), host(a, replayed), host(b, "")}},
			{"a dialer burns no nonce for a forged hello", "dialer", 0, []nonceStep{forged(host(a, "")), host(a, ""), host(a, replayed)}},
		})},
	}
}
