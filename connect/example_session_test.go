package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// exampleSession returns both ends of a session in memory: an app with the toy world's
// tools and a host.
func exampleSession(ctx context.Context) (*connect.RemoteAdapter, *connect.Responder) {
	appKey, _ := connect.GenerateIdentity()
	hostKey, _ := connect.GenerateIdentity()
	a, b := connect.Pipe()
	accepted := make(chan *connect.Responder)
	go func() {
		host, err := connect.Accept(ctx, b, connect.ResponderConfig{Config: connect.Config{
			Identity: hostKey, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{appKey.PeerID()},
		}})
		if err != nil {
			log.Print(err)
		}
		accepted <- host
	}()
	app, err := connect.Dial(ctx, a, connect.DialConfig{
		Config: connect.Config{
			Identity: appKey, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{hostKey.PeerID()}, Tools: toyworld.Tools(),
		},
		Remote: hostKey.PeerID(),
	})
	if err != nil {
		log.Fatal(err)
	}
	return app, <-accepted
}

func ExampleDial() {
	ctx := context.Background()
	me, _ := connect.GenerateIdentity()
	host, _ := connect.GenerateIdentity()
	transport, far := connect.Pipe()
	far.Close() // nobody answers

	_, err := connect.Dial(ctx, transport, connect.DialConfig{
		Config: connect.Config{Identity: me, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{host.PeerID()}},
		Remote: host.PeerID(),
	})
	if failed, ok := errors.AsType[*connect.HandshakeError](err); ok {
		fmt.Println(failed.Kind, failed.Code)
	}
	// Output: handshake transport
}

func ExampleAccept() {
	app, host := exampleSession(context.Background())
	defer app.Close()
	for _, tool := range host.RemoteTools() {
		fmt.Println(tool.CapabilityID)
	}
	// Output:
	// tools.toy_world.roll_dice
	// tools.toy_world.lore_lookup
}

func ExampleSession_InvokeTool() {
	ctx := context.Background()
	app, host := exampleSession(ctx)
	defer app.Close()

	rolled, err := host.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 2, "sides": 6})
	fmt.Println(string(rolled), err)

	_, err = host.InvokeTool(ctx, "tools.toy_world.unheard_of", nil)
	fmt.Println(spoke.CodeOf(err))
	// Output:
	// {"rolls":[1,2],"total":3} <nil>
	// CAPABILITY_PORT_MISSING
}

func ExampleSession_RegisterToolHandler() {
	ctx := context.Background()
	app, host := exampleSession(ctx)
	defer app.Close()

	err := app.RegisterToolHandler(toyworld.RollDiceID, func(context.Context, json.RawMessage) (any, error) {
		return map[string]any{"rolls": []int{6}, "total": 6}, nil // loaded dice
	})
	if err != nil {
		log.Fatal(err)
	}
	rolled, err := host.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 1})
	fmt.Println(string(rolled), err)
	// Output: {"rolls":[6],"total":6} <nil>
}

func ExampleSessionFromContext() {
	handler := func(ctx context.Context, _ json.RawMessage) (any, error) {
		caller, ok := connect.SessionFromContext(ctx)
		if !ok {
			return nil, errors.New("not called by a peer")
		}
		// Runs the caller's tool while the caller waits for this one.
		return caller.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 1})
	}
	_, err := handler(context.Background(), nil)
	fmt.Println(err)
	// Output: not called by a peer
}

func ExampleWithInvokeTimeout() {
	ctx := context.Background()
	app, host := exampleSession(ctx)
	defer app.Close()
	_ = app.RegisterToolHandler(toyworld.LoreLookupID, func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done() // never answers
		return nil, ctx.Err()
	})

	_, err := host.InvokeTool(connect.WithInvokeTimeout(ctx, time.Millisecond), toyworld.LoreLookupID, map[string]string{"entry_id": "x"})
	fmt.Println(spoke.CodeOf(err), spoke.KindOf(err))
	// Output: INTERNAL_ERROR timeout
}

func ExampleSession_Wait() {
	app, host := exampleSession(context.Background())
	app.Close()
	fmt.Println(app.Wait())
	fmt.Println(errors.Is(host.Wait(), connect.ErrSessionClosed))
	// Output:
	// <nil>
	// true
}

func ExampleSession_Shutdown() {
	ctx := context.Background()
	app, host := exampleSession(ctx)
	answer := make(chan error)
	_ = app.RegisterToolHandler(toyworld.RollDiceID, func(context.Context, json.RawMessage) (any, error) {
		go func() { answer <- app.Shutdown(ctx) }() // not from the handler itself
		return map[string]any{"rolls": []int{4}, "total": 4}, nil
	})

	result, _ := host.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 1})
	fmt.Println(string(result))
	fmt.Println(<-answer)
	// Output:
	// {"rolls":[4],"total":4}
	// <nil>
}
