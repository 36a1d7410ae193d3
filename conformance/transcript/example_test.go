package transcript_test

import (
	"context"
	"fmt"

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
