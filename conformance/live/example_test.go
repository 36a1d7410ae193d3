package live_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/live"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
)

// The responder under test is one of this library, at the other end of a pipe. A
// foreign one is reached with ws.Dial.
func ExampleRun() {
	host, _ := connect.IdentityFromSeed(bytes.Repeat([]byte{1}, 32))
	judge, _ := connect.IdentityFromSeed(bytes.Repeat([]byte{2}, 32))
	nonces := connect.NewNonceStore(0)
	open := func(ctx context.Context) (connect.Transport, error) {
		theirs, ours := connect.Pipe()
		go connect.Accept(ctx, theirs, connect.ResponderConfig{Config: connect.Config{
			Identity: host, Manifest: toyworld.HostManifest(), Tools: toyworld.Tools(),
			Allow: []connect.PeerID{judge.PeerID()}, Nonces: nonces,
		}})
		return ours, nil
	}
	report, err := live.Run(context.Background(), live.Config{Role: live.Responder, Open: open, Identity: judge})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Tool, "ok:", report.OK)
	for _, r := range report.Results[:3] {
		fmt.Printf("%s §%d %s\n", r.Verdict, r.Section, r.Rule)
	}
	// Output:
	// tools.toy_world.roll_dice ok: true
	// pass §4 the hello answers our nonce and the session binds both peers
	// pass §4 the session lists what both manifests list, in the responder's order
	// pass §4 the session was opened at an RFC 3339 time in UTC
}
