package connect_test

import (
	"context"
	"fmt"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// A host runs a tool on whichever app has it.
func ExampleRouter() {
	app, host, err := harborSession(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Wait()
	defer app.Wait()
	defer app.Close()

	router := connect.NewRouter(connect.RouterConfig{HostID: "tower"})
	if err := router.Register(host); err != nil {
		fmt.Println(err)
		return
	}
	rolled, err := router.InvokeTool(context.Background(), toyworld.RollDiceID, map[string]int{"count": 2})
	fmt.Println(string(rolled), err)
	_, err = router.InvokeTool(context.Background(), "tools.toy_world.summon_kraken", nil)
	fmt.Println(err)
	for _, tool := range router.GetHostCapabilityManifest().Tools {
		fmt.Println(tool.CapabilityID)
	}
	router.Unregister(app.LocalPeerID())
	_, err = router.GetKnowledgeEntry(context.Background(), toyworld.MiraID)
	fmt.Println(spoke.KindOf(err))
	// Output:
	// {"rolls":[1,2],"total":3} <nil>
	// CAPABILITY_PORT_MISSING (no_capable_peer): no peer serves tools.toy_world.summon_kraken
	// tools.toy_world.lore_lookup
	// tools.toy_world.roll_dice
	// no_capable_peer
}

// Several apps with the same tool share the work, and one steps in for another.
func ExampleNewRouter() {
	router := connect.NewRouter(connect.RouterConfig{Spread: connect.LeastInFlight, Retries: 1})
	fmt.Println(router.Peers())
	// Output: []
}

func ExampleSelect() {
	checker := &spoke.HostCapabilityManifest{Roles: []string{"checker"}, Capabilities: []string{"spoke-baseline"}}
	plain := &spoke.HostCapabilityManifest{Capabilities: []string{"spoke-baseline"}, Namespaces: []string{"harbor"}}
	peers := []connect.Candidate{{Peer: "A", Manifest: plain}, {Peer: "B", Manifest: checker}}
	for _, op := range []string{"check", "upsert"} {
		peer, err := connect.Select(op, nil, peers)
		fmt.Println(op, peer, err)
	}
	_, err := connect.Select("upsert", []byte(`{"namespace":"forest"}`), peers)
	fmt.Println(spoke.KindOf(err))
	// Output:
	// check B <nil>
	// upsert A <nil>
	// no_capable_peer
}
