package connect_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// harborSession holds a session between the demo app and a host that serves ports.
func harborSession(ports any) (*connect.RemoteAdapter, *connect.Responder, error) {
	app, err := connect.IdentityFromSeed(bytes.Repeat([]byte{0x63}, 32))
	if err != nil {
		return nil, nil, err
	}
	host, err := connect.IdentityFromSeed(bytes.Repeat([]byte{0x51}, 32))
	if err != nil {
		return nil, nil, err
	}
	a, b := connect.Pipe()
	accepted := make(chan *connect.Responder, 1)
	go func() {
		responder, err := connect.Accept(context.Background(), b, connect.ResponderConfig{Config: connect.Config{
			Identity: host,
			Manifest: toyworld.HostManifest(),
			Allow:    []connect.PeerID{app.PeerID()},
			Nonces:   connect.NewNonceStore(0),
			Ports:    ports,
		}})
		if err != nil {
			b.Close()
		}
		accepted <- responder
	}()
	adapter, err := connect.Dial(context.Background(), a, connect.DialConfig{
		Config: connect.Config{Identity: app, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{host.PeerID()}, Tools: toyworld.Tools()},
		Remote: host.PeerID(),
	})
	return adapter, <-accepted, err
}

// An app drives the ports that its host serves.
func ExampleRemoteAdapter() {
	ctx := context.Background()
	world, err := toyworld.NewWorld(toyworld.HarborCorpus())
	if err != nil {
		fmt.Println(err)
		return
	}
	app, host, err := harborSession(world)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Wait()
	defer app.Wait()
	defer app.Close()

	fmt.Println(app.GetHostCapabilityManifest().HostID)
	mira, err := app.GetKnowledgeEntry(ctx, toyworld.MiraID)
	fmt.Println(mira.CanonicalName, *mira.Revision, err)
	_, err = app.PutKnowledgeEntry(ctx, mira, nil)
	fmt.Println(spoke.CodeOf(err))
	_, err = app.Project(ctx, spoke.ProjectRequest{SessionID: "s", EntryID: toyworld.HarborID})
	fmt.Println(spoke.CodeOf(err), "(not negotiated)")
	// Output:
	// demo-inference-host
	// Mira 1 <nil>
	// REVISION_CONFLICT
	// CAPABILITY_PORT_MISSING (not negotiated)
}

// diceWorld is a host's world that rolls the calling app's dice before it answers.
type diceWorld struct{ *toyworld.World }

func (w diceWorld) GetKnowledgeEntry(ctx context.Context, id string) (spoke.KnowledgeEntry, error) {
	entry, err := w.World.GetKnowledgeEntry(ctx, id)
	if err != nil {
		return entry, err
	}
	app, _ := connect.SessionFromContext(ctx)
	rolled, err := app.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 2})
	entry.Body.Computable = spoke.Fields{"rolled": rolled}
	return entry, err
}

// A host's own ports can run the tools of the very app that called.
func ExampleResponderConfig() {
	world, err := toyworld.NewWorld(toyworld.HarborCorpus())
	if err != nil {
		fmt.Println(err)
		return
	}
	app, host, err := harborSession(diceWorld{world})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Wait()
	defer app.Wait()
	defer app.Close()
	mira, err := app.GetKnowledgeEntry(context.Background(), toyworld.MiraID)
	fmt.Println(string(mira.Body.Computable["rolled"]), err)
	// Output: {"rolls":[1,2],"total":3} <nil>
}

// After the handshake the sides are alike: a host can drive the ports of an app that
// serves some.
func ExampleNewPorts() {
	app, host, err := harborSession(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Wait()
	defer app.Wait()
	defer app.Close()
	_, err = connect.NewPorts(host).GetKnowledgeEntry(context.Background(), toyworld.MiraID)
	fmt.Println(spoke.CodeOf(err), "(this app serves none)")
	// Output: CAPABILITY_PORT_MISSING (this app serves none)
}

func ExamplePortCapability() {
	capability, ok := connect.PortCapability("port.computable.project")
	fmt.Println(capability, ok)
	_, ok = connect.PortCapability("port.knowledge.delete")
	fmt.Println(ok)
	// Output:
	// l2-computable true
	// false
}
