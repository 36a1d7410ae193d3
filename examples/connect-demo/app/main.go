// Command app is the app of the connect demo: it dials the demo host, offers its tools,
// and prints each step of the story with what came of it.
//
//	go run ./examples/connect-demo/app --url ws://127.0.0.1:8787 [--without-tools]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spoke-peer/spoke-go/examples/connect-demo/story"
)

func main() {
	url := flag.String("url", "ws://127.0.0.1:8787", "address of the host")
	without := flag.Bool("without-tools", false, "offer no tools")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := tell(ctx, story.AppConfig{URL: *url, WithoutTools: *without}); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func tell(ctx context.Context, cfg story.AppConfig) error {
	app, err := story.DialApp(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Printf("app           %s\n", app.LocalPeerID())
	err = app.Tell(ctx, os.Stdout)
	app.Close()
	app.Wait()
	return err
}
