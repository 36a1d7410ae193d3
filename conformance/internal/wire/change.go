package wire

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/spoke-peer/spoke-go/connect"
)

// Change returns a copy of a signed frame as somebody on the way would change it. The
// names are those of the vectors; "" changes nothing.
func Change(f Frame, name string) (Frame, error) {
	change, ok := changes[name]
	if !ok {
		return f, fmt.Errorf("a change that nobody knows: %q", name)
	}
	members := maps.Clone(f.Members)
	if err := change(members); err != nil {
		return f, err
	}
	return frameOf(members)
}

type members = map[string]json.RawMessage

var changes = map[string]func(members) error{
	"":                 func(members) error { return nil },
	"other_key":        signByStranger,
	"no_signature":     func(m members) error { delete(m, "signature"); return nil },
	"empty_signature":  set("signature", `""`),
	"number_signature": set("signature", `1`),
	"padded_signature": func(m members) error {
		m["signature"] = append(bytes.TrimSuffix(bytes.Clone(m["signature"]), []byte(`"`)), `=="`...)
		return nil
	},
	"payload":        set("payload", `{"arguments":{"n":2},"result":{"n":2}}`),
	"op":             set("op", `"tools.conformance.other"`),
	"auth":           set("auth", `null`),
	"error":          set("error", `{"code":"INTERNAL_ERROR","message":"","extensions":{}}`),
	"unknown_member": set("unknown", `1`),
	"extensions":     set("extensions", `{"somebody":{"else":1}}`),
}

func set(name, value string) func(members) error {
	return func(m members) error { m[name] = json.RawMessage(value); return nil }
}

// Stranger is a peer that nobody has on a list.
func Stranger() (*connect.Identity, error) {
	return connect.IdentityFromSeed(bytes.Repeat([]byte{0x73}, ed25519.SeedSize))
}

// signByStranger replaces the signature by one of another key over the same members.
func signByStranger(m members) error {
	stranger, err := Stranger()
	if err != nil {
		return err
	}
	doc := Object{}
	for name, value := range m {
		if name != "signature" && name != "extensions" {
			doc[name] = value
		}
	}
	f, err := Sign(stranger, doc)
	if err != nil {
		return err
	}
	m["signature"] = f.Members["signature"]
	return nil
}
