// Command remote-tools shows the Remote Tool Protocol: an app that offers the tools of
// its screen, and a host that finds them, works the screen in one batch that brings
// evidence, and saves a picture of it. It exits with status 0 only if the saved file
// equals the one that was sent.
//
//	go run ./examples/remote-tools                  both ends, plain frames
//	go run ./examples/remote-tools -spoke           both ends, inside a signed session
//	go run ./examples/remote-tools -serve :8790     the app alone
//	go run ./examples/remote-tools -url ws://127.0.0.1:8790   the host alone
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// options are the command line.
type options struct {
	spoke bool
	serve string
	url   string
	out   string
}

func main() {
	var o options
	flag.BoolVar(&o.spoke, "spoke", false, "carry the protocol inside a signed SPOKE session")
	flag.StringVar(&o.serve, "serve", "", "be the app alone and listen on this address, such as 127.0.0.1:8790")
	flag.StringVar(&o.url, "url", "", "be the host alone and dial the app there")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "remote-tools.png"), "where to save the picture")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "remote-tools:", err)
		os.Exit(1)
	}
}

// run is one of the three ways to run the example.
func run(ctx context.Context, o options, out io.Writer) error {
	switch {
	case o.serve != "":
		return serveAlone(ctx, o, out)
	case o.url != "":
		return visit(ctx, o, o.url, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	app, err := newApp(o.spoke)
	if err != nil {
		listener.Close()
		return err
	}
	server := &http.Server{Handler: app, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	err = visit(ctx, o, "ws://"+listener.Addr().String(), out)
	server.Close()
	<-done
	app.wait()
	return err
}

// serveAlone serves hosts until ctx ends.
func serveAlone(ctx context.Context, o options, out io.Writer) error {
	app, err := newApp(o.spoke)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.serve)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "app on ws://%s\n", listener.Addr())
	server := &http.Server{Handler: app, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() {
		server.Close()
		app.close()
	})()
	err = server.Serve(listener)
	app.close()
	app.wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}
