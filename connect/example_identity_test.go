package connect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
)

func ExampleGenerateIdentity() {
	id, err := connect.GenerateIdentity()
	if err != nil {
		fmt.Println(err)
		return
	}
	peer, err := connect.ParsePeerID(string(id.PeerID()))
	fmt.Println(peer == id.PeerID(), err)
	// Output: true <nil>
}

// An identity prints as its peer id, whatever the verb: the private key stays inside.
func ExampleIdentityFromSeed() {
	seed := bytes.Repeat([]byte{0x63}, 32) // for an example; take 32 random bytes
	id, err := connect.IdentityFromSeed(seed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id.PeerID())
	fmt.Printf("%+v\n", id)
	// Output:
	// 12D3KooWM82bDYYgzgXaayHDdVciFe3bGvJ69qHnbSztNUJ933VQ
	// 12D3KooWM82bDYYgzgXaayHDdVciFe3bGvJ69qHnbSztNUJ933VQ
}

func ExampleLoadIdentity() {
	folder, err := os.MkdirTemp("", "spoke")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "peer_key")

	created, err := connect.CreateIdentity(path, nil) // or with a passphrase
	if err != nil {
		fmt.Println(err)
		return
	}
	loaded, err := connect.LoadIdentity(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the same peer:", loaded.PeerID() == created.PeerID())
	// Output: the same peer: true
}

// A peer id contains the peer's public key.
func ExamplePeerID_PublicKey() {
	key, err := connect.PeerID("12D3KooWM82bDYYgzgXaayHDdVciFe3bGvJ69qHnbSztNUJ933VQ").PublicKey()
	fmt.Printf("%x %v\n", key, err)
	_, err = connect.PeerID("nobody").PublicKey()
	fmt.Println(err != nil)
	// Output:
	// a7f6dfaf8f38b89ba8ce649b594f91e4d01fdc57f9c9493df43b5e50a9987367 <nil>
	// true
}

func ExampleParseAllowlist() {
	const file = `
# Who may connect.
12D3KooWNm5t4HypYRmiC5v9CD2TnPKrJh2J8TcfJ2gPhA7L8TiZ  # the host in the office
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILiXp76pT03t5Zrza6hUGG1mnIinxINzMBOhRR62mxXZ alice@example
`
	peers, err := connect.ParseAllowlist(strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, peer := range peers {
		fmt.Println(peer)
	}

	_, err = connect.ParseAllowlist(strings.NewReader("everybody\n"))
	fmt.Println(strings.HasPrefix(err.Error(), "line 1: "))
	// Output:
	// 12D3KooWNm5t4HypYRmiC5v9CD2TnPKrJh2J8TcfJ2gPhA7L8TiZ
	// 12D3KooWNEwJvfbQtN4sjWgrK7rscSiiLtmcWbGNtjEGG8DQqJN4
	// true
}

func ExampleIdentity_SignEnvelope() {
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{0x63}, 32))
	if err != nil {
		fmt.Println(err)
		return
	}
	request := json.RawMessage(`{
		"session_id": "s", "sequence": 0, "request_id": "r",
		"op": "tools.test.echo", "payload": {"arguments": {"n": 1.0}}
	}`)
	envelope, err := id.SignEnvelope(connect.RequestEnvelope, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	signed, err := connect.SignedBytes(connect.RequestEnvelope, envelope)
	fmt.Printf("%s %v\n", signed, err)
	fmt.Println("its session:", connect.VerifyEnvelope(connect.RequestEnvelope, envelope, id.PublicKey(), "s"))
	fmt.Println("another:", connect.VerifyEnvelope(connect.RequestEnvelope, envelope, id.PublicKey(), "t"))
	// Output:
	// {"op":"tools.test.echo","payload":{"arguments":{"n":1}},"request_id":"r","sequence":0,"session_id":"s"} <nil>
	// its session: <nil>
	// another: INTERNAL_ERROR (envelope_auth_session_unbound): the envelope belongs to another session
}

func ExampleVerifyHello() {
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{0x63}, 32))
	if err != nil {
		fmt.Println(err)
		return
	}
	hello, err := id.SignEnvelope(connect.HelloEnvelope, json.RawMessage(`{
		"protocol_version": 1, "peer_id": "`+string(id.PeerID())+`",
		"nonce": "an-example-nonce-1", "host": {"host_id": "app"}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	check := connect.HelloCheck{Peer: id.PeerID(), Key: id.PublicKey(), Role: connect.InitiatorRole}
	fmt.Println("as it is:", connect.VerifyHello(hello, check))

	forged := bytes.Replace(hello, []byte(`"app"`), []byte(`"bad"`), 1)
	err = connect.VerifyHello(forged, check)
	var failure *connect.HandshakeError
	if errors.As(err, &failure) {
		fmt.Println("changed:", failure.Code)
	}
	// Output:
	// as it is: <nil>
	// changed: invalid_hello_signature
}
