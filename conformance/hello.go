package conformance

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// helloSignCase is a hello to sign; one with a peer nonce is a responder's.
type helloSignCase struct {
	Seed      hexBytes        `json:"seed_hex"`
	Nonce     string          `json:"nonce"`
	PeerNonce string          `json:"peer_nonce"`
	Host      json.RawMessage `json:"host"`
	JCS       hexBytes        `json:"jcs_hex"`
	PeerID    connect.PeerID  `json:"peer_id"`
	Signature string          `json:"signature"`
}

// checkHelloSign signs the hello, matches every byte, and verifies it.
func checkHelloSign(_ context.Context, c helloSignCase) error {
	id, err := connect.IdentityFromSeed(c.Seed)
	if err != nil {
		return err
	}
	if err := same("peer id", c.PeerID, id.PeerID()); err != nil {
		return err
	}
	unsigned, err := json.Marshal(c.document())
	if err != nil {
		return err
	}
	signed, err := signBoth(id, connect.HelloEnvelope, unsigned, string(c.JCS))
	if err != nil {
		return err
	}
	if err := sameText("signature", c.Signature, signed.TextOf("signature")); err != nil {
		return err
	}
	check := connect.HelloCheck{Peer: c.PeerID, Key: id.PublicKey(), Role: connect.InitiatorRole}
	if c.PeerNonce != "" {
		check.Role, check.Nonce = connect.ResponderRole, c.PeerNonce
	}
	return unexpected("the signed hello verifies", connect.VerifyHello(signed.Text, check))
}

func (c helloSignCase) document() wire.Object {
	doc := wire.Object{"protocol_version": 1, "peer_id": c.PeerID, "nonce": c.Nonce, "host": c.Host}
	if c.PeerNonce != "" {
		doc["peer_nonce"] = c.PeerNonce
	}
	return doc
}

// signBoth returns the signed envelope of a document whose signed text must be want.
func signBoth(id *connect.Identity, kind connect.EnvelopeKind, unsigned json.RawMessage, want string) (wire.Frame, error) {
	text, err := connect.SignedBytes(kind, unsigned)
	if err != nil {
		return wire.Frame{}, err
	}
	if err := sameText("signed text", want, string(text)); err != nil {
		return wire.Frame{}, err
	}
	signed, err := id.SignEnvelope(kind, unsigned)
	if err != nil {
		return wire.Frame{}, err
	}
	return wire.Parse(signed)
}

type helloVerifyCase struct {
	Key       hexBytes        `json:"pubkey_hex"`
	PeerID    connect.PeerID  `json:"expected_peer_id"`
	PeerNonce *string         `json:"expected_peer_nonce"`
	Hello     json.RawMessage `json:"hello"`
	Result    helloResult     `json:"result"`
}

type helloResult struct {
	OK   bool   `json:"ok"`
	Code string `json:"code"`
}

// String says what becomes of the hello.
func (r helloResult) String() string {
	if r.OK {
		return "accepted"
	}
	return "refused " + r.Code
}

// checkHelloVerify expects no role of a case without an expected nonce.
func checkHelloVerify(_ context.Context, c helloVerifyCase) error {
	check := connect.HelloCheck{Peer: c.PeerID, Key: ed25519.PublicKey(c.Key)}
	if c.PeerNonce != nil {
		check.Role, check.Nonce = connect.ResponderRole, *c.PeerNonce
	}
	code := handshakeCode(connect.VerifyHello(c.Hello, check))
	return sameText("hello", c.Result.String(), helloResult{code == "", code}.String())
}

// handshakeCode returns why a handshake failed, "" when it did not.
func handshakeCode(err error) string {
	if failure, ok := errors.AsType[*connect.HandshakeError](err); ok {
		return failure.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
