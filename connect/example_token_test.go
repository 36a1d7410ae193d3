package connect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// seeded returns an identity for an example.
func seeded(b byte) *connect.Identity {
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		panic(err)
	}
	return id
}

// An issuer lets an app read a host's knowledge for an hour.
func ExampleIssueToken() {
	issuer, app, host := seeded(1), seeded(2), seeded(3)
	token, err := connect.IssueToken(issuer, connect.TokenClaims{
		Subject:      app.PeerID(),
		Audience:     host.PeerID(),
		Capabilities: []string{connect.CapabilityBaseline},
		Expires:      time.Now().Add(time.Hour),
	}, time.Time{})
	fmt.Println(token, err) // its text is not shown

	_, err = connect.IssueToken(issuer, connect.TokenClaims{Subject: app.PeerID(), Audience: host.PeerID()}, time.Time{})
	fmt.Println(err)
	// Output:
	// capability token <nil>
	// INVALID_INPUT (token_invalid): issue a capability token: no capabilities
}

func ExampleVerifyToken() {
	issuer, app, host := seeded(1), seeded(2), seeded(3)
	token, err := connect.IssueToken(issuer, connect.TokenClaims{
		Subject: app.PeerID(), Audience: host.PeerID(), Capabilities: []string{"spoke-baseline"}, Expires: time.Unix(1800003600, 0),
	}, time.Unix(1800000000, 0))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := json.Marshal(token)
	if err != nil {
		fmt.Println(err)
		return
	}
	check := connect.TokenCheck{Trusted: []connect.PeerID{issuer.PeerID()}, Self: host.PeerID(), Peer: app.PeerID(), Now: time.Unix(1800000000, 0)}
	claims, err := connect.VerifyToken(text, check)
	fmt.Println(claims.Capabilities, err)

	check.Peer = seeded(4).PeerID() // somebody who found it
	_, err = connect.VerifyToken(text, check)
	fmt.Println(err)
	// Output:
	// [spoke-baseline] <nil>
	// INTERNAL_ERROR (token_invalid): the capability token belongs to another peer
}

// A token from an issuer's file or answer.
func ExampleParseToken() {
	_, err := connect.ParseToken(json.RawMessage(`{"v":1}`))
	fmt.Println(err)
	// Output: connect: not a capability token
}

// A host insists on tokens, and an app has a source that it asks before one expires.
func ExampleTokenSource() {
	issuer, app, host := seeded(1), seeded(2), seeded(3)
	source := func(context.Context) (connect.Token, error) { // an issuer's service, in earnest
		return connect.IssueToken(issuer, connect.TokenClaims{
			Subject: app.PeerID(), Audience: host.PeerID(),
			Capabilities: []string{connect.CapabilityBaseline}, Expires: time.Now().Add(time.Hour),
		}, time.Time{})
	}
	world, err := toyworld.NewWorld(toyworld.HarborCorpus())
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := connect.Pipe()
	go connect.Accept(context.Background(), b, connect.ResponderConfig{
		Config: connect.Config{
			Identity: host, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{app.PeerID()}, Ports: world,
			TrustedIssuers: []connect.PeerID{issuer.PeerID()},
		},
		RequireCapabilityToken: true,
	})
	adapter, err := connect.Dial(context.Background(), a, connect.DialConfig{
		Config:      connect.Config{Identity: app, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{host.PeerID()}},
		Remote:      host.PeerID(),
		TokenSource: source,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer adapter.Wait()
	defer adapter.Close()

	mira, err := adapter.GetKnowledgeEntry(context.Background(), toyworld.MiraID)
	fmt.Println(mira.CanonicalName, err)
	narrow, err := connect.IssueToken(issuer, connect.TokenClaims{
		Subject: app.PeerID(), Audience: host.PeerID(), Capabilities: []string{"l5-fork"}, Expires: time.Now().Add(time.Hour),
	}, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = adapter.GetKnowledgeEntry(connect.WithToken(context.Background(), narrow), toyworld.MiraID)
	fmt.Println(spoke.CodeOf(err))
	// Output:
	// Mira <nil>
	// CAPABILITY_PORT_MISSING
}

func ExampleWithToken() {
	app, host, err := harborSession(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Wait()
	defer app.Wait()
	defer app.Close()
	token, err := connect.IssueToken(seeded(1), connect.TokenClaims{
		Subject: app.LocalPeerID(), Audience: app.RemotePeerID(), Capabilities: []string{"spoke-baseline"}, Expires: time.Now().Add(time.Hour),
	}, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = app.GetKnowledgeEntry(connect.WithToken(context.Background(), token), toyworld.MiraID)
	fmt.Println(err) // this host trusts no issuer
	// Output: INTERNAL_ERROR (token_invalid): no issuer of capability tokens is trusted
}
