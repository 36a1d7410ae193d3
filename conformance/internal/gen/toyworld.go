package main

import (
	"encoding/json"
	"fmt"
)

// The toy world's two tools, canonical.
const (
	rollDice = `{"capability_id":"tools.toy_world.roll_dice",` +
		"\"description\":\"Roll `count` dice with `sides` faces each. Deterministic: the same arguments always produce the same rolls (seeded from the arguments).\"," +
		`"idempotent":true,` +
		`"input":{"properties":{"count":{"minimum":1,"type":"integer"},"sides":{"minimum":2,"type":"integer"}},"required":["count"],"type":"object"},` +
		`"op":"tools.toy_world.roll_dice",` +
		`"output":{"properties":{"rolls":{"items":{"type":"integer"},"type":"array"},"total":{"type":"integer"}},"required":["rolls","total"],"type":"object"},` +
		`"schema_version":1}`
	loreLookup = `{"capability_id":"tools.toy_world.lore_lookup",` +
		`"description":"Look up a toy-world lore entry (KnowledgeEntry) by id from the adapter's committed store. Read-only and deterministic.",` +
		`"idempotent":true,` +
		`"input":{"properties":{"entry_id":{"type":"string"}},"required":["entry_id"],"type":"object"},` +
		`"op":"tools.toy_world.lore_lookup",` +
		`"output":{"properties":{"entry":{"type":"object"}},"required":["entry"],"type":"object"},` +
		`"schema_version":1}`
)

// toyHost returns the canonical manifest of one of the toy world's peers.
func toyHost(hostID, roles string) string {
	return `{"capabilities":["spoke-baseline","tools.toy_world.roll_dice","tools.toy_world.lore_lookup","l2-computable","l5-fork"],` +
		`"extensions":{},"host_id":"` + hostID + `","namespaces":["demo-harbor","toy_world"],"roles":` + roles + `,"schema_version":1,` +
		`"tools":[` + rollDice + `,` + loreLookup + `]}`
}

var (
	appHost       = toyHost("demo-third-party-app", `["input-source"]`)
	inferenceHost = toyHost("demo-inference-host", `["checker","assembler"]`)
)

// descriptor is one of the toy world's tools.
type descriptor struct {
	CapabilityID string `json:"capability_id"`
	JCS          string `json:"jcs_hex"`
}

// helloCase is a hello to sign.
type helloCase struct {
	Name      string          `json:"name"`
	Seed      string          `json:"seed_hex"`
	Nonce     string          `json:"nonce"`
	PeerNonce string          `json:"peer_nonce,omitempty"`
	Host      json.RawMessage `json:"host"`
	JCS       string          `json:"jcs_hex"`
	PeerID    string          `json:"peer_id"`
	Signature string          `json:"signature"`
}

func signHello(name string, k key, nonce, peerNonce, host string) helloCase {
	text := `{"host":` + host + `,"nonce":"` + nonce + `","peer_id":"` + k.peerID() + `"`
	if peerNonce != "" {
		text += `,"peer_nonce":"` + peerNonce + `"`
	}
	text += `,"protocol_version":1}`
	return helloCase{
		Name: name, Seed: k.seedHex(), Nonce: nonce, PeerNonce: peerNonce, Host: json.RawMessage(host),
		JCS: hexOf(text), PeerID: k.peerID(), Signature: k.sign(text),
	}
}

// toySession is the session that the inference host opens for the app.
func toySession() signCase {
	text := fmt.Sprintf(`{"initial_sequence":0,"initiator_peer_id":"%s",`+
		`"negotiated_capabilities":["spoke-baseline","tools.toy_world.roll_dice","tools.toy_world.lore_lookup","l2-computable","l5-fork"],`+
		`"opened_at":"2026-01-01T00:00:00.000Z","responder_peer_id":"%s","session_id":"%s"}`,
		appKey.peerID(), hostKey.peerID(), sessionID)
	return signCase{
		Name: "the session of the two demo peers", Kind: "session",
		Unsigned: json.RawMessage(text), JCS: hexOf(text), Envelope: json.RawMessage(hostKey.seal(text)),
	}
}

func toyWorld() file {
	const appNonce, hostNonce = "toy-world-app-nonce-01", "toy-world-host-nonce-1"
	return file{
		group: "toy_world", rule: "wire spec, sections 3, 4 and 6",
		about:  "the toy world: its tool descriptors, and the hello and session of its demo peers",
		shared: []member{{"seed_hex", hostKey.seedHex()}, {"pubkey_hex", hostKey.publicHex()}},
		lists: []list{
			listOf("descriptors", []descriptor{
				{"tools.toy_world.roll_dice", hexOf(rollDice)},
				{"tools.toy_world.lore_lookup", hexOf(loreLookup)},
			}),
			listOf("hello", []helloCase{
				signHello("the app's hello", appKey, appNonce, "", appHost),
				signHello("the host's hello", hostKey, hostNonce, appNonce, inferenceHost),
			}),
			listOf("session", []signCase{toySession()}),
		},
	}
}
