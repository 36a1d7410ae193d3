package transcript_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/connect"
)

// The carriers of a real relay are the two WebSocket transports between which it
// stands.
func ExampleRelay() {
	app, fromApp := connect.Pipe()
	host, fromHost := connect.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- transcript.Relay(context.Background(), carrier{Transport: fromApp}, carrier{Transport: fromHost}, func(e transcript.Entry) error {
			fmt.Println(e.From, e.Frame)
			return nil
		})
	}()
	_ = app.Send(context.Background(), []byte(`{"n":1}`))
	frame, _ := host.Recv(context.Background())
	app.Close()
	fmt.Println("the host got", string(frame), <-done)
	// Output:
	// dialer {"n":1}
	// the host got {"n":1} <nil>
}

// A judge needs no whole transcript: it names each frame as it comes.
func ExampleNewJudge() {
	id, _ := connect.IdentityFromSeed(bytes.Repeat([]byte{0x63}, 32))
	hello, _ := id.SignEnvelope(connect.HelloEnvelope, []byte(`{"protocol_version":1,"peer_id":"`+
		string(id.PeerID())+`","nonce":"0123456789abcdef","host":{}}`))
	judge := transcript.NewJudge()
	for _, frame := range []string{string(hello), strings.Replace(string(hello), "abcdef", "fedcba", 1), `{"n":1}`} {
		line := judge.Next(transcript.Entry{From: transcript.FromDialer, Frame: frame})
		fmt.Println(line.N, line.Name, line.Signed)
	}
	// Output:
	// 1 hello true
	// 2 hello false
	// 3 unknown false
}
