// Command host is the host of the connect demo: it keeps a small world, serves it to the
// demo app, and rolls dice on the app while serving it.
//
//	go run ./examples/connect-demo/host --port 8787 [--db FILE] [--baseline-only]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spoke-peer/spoke-go/examples/connect-demo/story"
	"github.com/spoke-peer/spoke-go/fixtures/sqlitestore"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
)

func main() {
	port := flag.Int("port", 8787, "loopback port to listen on; 0 takes a free one")
	db := flag.String("db", "", "file that keeps the world; without it every app gets a new world in memory")
	baseline := flag.Bool("baseline-only", false, "leave the optional capabilities l2-computable and l5-fork out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *port, *db, *baseline); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, port int, db string, baseline bool) error {
	cfg := story.HostConfig{BaselineOnly: baseline, Out: os.Stdout}
	if db != "" {
		store, err := sqlitestore.Open(ctx, db)
		if err != nil {
			return err
		}
		defer store.Close()
		if cfg.World, err = toyworld.OpenWorld(ctx, store, toyworld.HarborCorpus()); err != nil {
			return err
		}
	}
	host, err := story.NewHost(cfg)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	if err := announce(host, listener, db); err != nil {
		return err
	}
	server := &http.Server{Handler: host, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	host.Close()
	return nil
}

func announce(host *story.Host, listener net.Listener, db string) error {
	app, err := story.AppIdentity()
	if err != nil {
		return err
	}
	world := "in memory, a new one for every app"
	if db != "" {
		world = db
	}
	fmt.Printf("host    %s\nallows  %s\nworld   %s\nurl     ws://%s\n", host.PeerID(), app.PeerID(), world, listener.Addr())
	return nil
}
