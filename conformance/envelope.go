package conformance

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// signer is the key of a file of envelopes.
type signer struct {
	Seed hexBytes `json:"seed_hex"`
	Key  hexBytes `json:"pubkey_hex"`
}

var envelopeKinds = map[string]connect.EnvelopeKind{
	"session":  connect.SessionEnvelope,
	"request":  connect.RequestEnvelope,
	"response": connect.ResponseEnvelope,
}

type signCase struct {
	Kind     string          `json:"kind"`
	Unsigned json.RawMessage `json:"unsigned"`
	JCS      hexBytes        `json:"jcs_hex"`
	Envelope json.RawMessage `json:"envelope"`
}

var (
	checkSign   = inFile(signEnvelope)
	checkVerify = inFile(verifyEnvelope)
)

// signEnvelope signs what the vector signs and matches the whole envelope, then
// verifies the vector's.
func signEnvelope(_ context.Context, s signer, c signCase) error {
	kind, ok := envelopeKinds[c.Kind]
	if !ok {
		return fmt.Errorf("unknown kind %q", c.Kind)
	}
	id, err := connect.IdentityFromSeed(s.Seed)
	if err != nil {
		return err
	}
	want, err := c.signedText()
	if err != nil {
		return err
	}
	signed, err := signBoth(id, kind, c.Unsigned, want)
	if err != nil {
		return err
	}
	if err := sameJSON("envelope", c.Envelope, signed.Text); err != nil {
		return err
	}
	err = connect.VerifyEnvelope(kind, c.Envelope, ed25519.PublicKey(s.Key), signed.TextOf("session_id"))
	return unexpected("the vector's envelope verifies", err)
}

// signedText is the text that the signature covers; where the file does not give it,
// the canonical form of what is signed.
func (c signCase) signedText() (string, error) {
	if c.JCS != nil {
		return string(c.JCS), nil
	}
	text, err := connect.Canonicalize(c.Unsigned)
	return string(text), err
}

type verifyCase struct {
	Kind     string          `json:"kind"`
	Bound    string          `json:"bound_session_id"`
	Envelope json.RawMessage `json:"envelope"`
	Result   struct {
		OK   bool   `json:"ok"`
		Kind string `json:"kind"`
	} `json:"result"`
}

func verifyEnvelope(_ context.Context, s signer, c verifyCase) error {
	kind, ok := envelopeKinds[c.Kind]
	if !ok {
		return fmt.Errorf("unknown kind %q", c.Kind)
	}
	err := connect.VerifyEnvelope(kind, c.Envelope, ed25519.PublicKey(s.Key), c.Bound)
	if c.Result.OK {
		return unexpected("the envelope verifies", err)
	}
	if err == nil {
		return &mismatch{"refusal " + c.Result.Kind, "the envelope verifies"}
	}
	return same("refusal", c.Result.Kind, spoke.KindOf(err))
}
