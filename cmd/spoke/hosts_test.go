package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/tools"
	"github.com/spoke-peer/spoke-go/tools/remotetool"
)

// Hosts that scripts dial. Their arguments are a key file, the peer that is allowed, and
// an address to listen on, a free one when it is left out.

// caller calls the dice of every peer that dials, once with arguments that fit and once
// with others, and then says goodbye.
func caller() {
	listen(func(transport connect.Transport, id *connect.Identity, allowed connect.PeerID) {
		app, err := connect.Accept(context.Background(), transport, connect.ResponderConfig{Config: connect.Config{
			Identity: id, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{allowed}, Tools: toyworld.Tools(),
		}})
		if err != nil {
			return
		}
		for _, args := range []string{`{"count":2}`, `{"count":7}`} {
			result, err := app.InvokeTool(context.Background(), toyworld.RollDiceID, json.RawMessage(args))
			fmt.Println(string(result), err)
		}
		app.Close()
		_ = app.Wait()
	})
}

// catalog has tools with policies, and tells them in the Remote Tool Protocol.
func catalog() {
	registry := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	offered := map[string]tools.Metadata{
		"tools.shop.look": {Policy: tools.PolicyRead, Idempotent: true}, "tools.shop.buy": {Policy: tools.PolicyWrite}, "tools.shop.burn": {},
	}
	for _, id := range slices.Sorted(maps.Keys(offered)) {
		d := descriptorOf(id, "Does so.")
		d.Input = json.RawMessage(`{"type":"object","required":["what"],"properties":{"what":{"type":["string","null"]},"n":{"type":"integer"}}}`)
		must(registry.Register(tools.Raw(d, echo).With(offered[id])))
	}
	m := baseManifest("shop", "shop")
	m.Capabilities = added(m.Capabilities, remotetool.Capability)
	provider := remotetool.NewProvider(registry, remotetool.ProviderConfig{})
	listen(func(transport connect.Transport, id *connect.Identity, allowed connect.PeerID) {
		r, err := connect.Accept(context.Background(), transport, connect.ResponderConfig{Config: connect.Config{
			Identity: id, Manifest: registry.Describe(m), Allow: []connect.PeerID{allowed}, Tools: registry, Ops: remotetool.Ops(provider),
		}})
		if err == nil {
			_ = r.Wait()
		}
	})
}

// future answers every hello with one of version 2.
func future() {
	listen(func(transport connect.Transport, id *connect.Identity, _ connect.PeerID) {
		defer transport.Close()
		var theirs struct {
			Nonce string `json:"nonce"`
		}
		frame, err := transport.Recv(context.Background())
		if err != nil || json.Unmarshal(frame, &theirs) != nil {
			return
		}
		hello, err := id.SignEnvelope(connect.HelloEnvelope, fmt.Appendf(nil,
			`{"protocol_version":2,"peer_id":%q,"nonce":"0123456789abcdef","peer_nonce":%q,"host":{}}`, id.PeerID(), theirs.Nonce))
		must(err)
		_ = transport.Send(context.Background(), hello)
	})
}

func listen(serve func(connect.Transport, *connect.Identity, connect.PeerID)) {
	id, err := connect.LoadIdentity(os.Args[1], nil)
	must(err)
	address := "127.0.0.1:0"
	if len(os.Args) > 3 {
		address = strings.TrimPrefix(os.Args[3], "ws://")
	}
	listener, err := net.Listen("tcp", address)
	must(err)
	fmt.Printf("ws://%s\n", listener.Addr())
	must(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if transport, err := ws.Upgrade(w, r, nil); err == nil {
			serve(transport, id, connect.PeerID(os.Args[2]))
		}
	})))
}

// must ends a program of a script.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
