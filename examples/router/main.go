// Command router is a host that routes among three apps, each a process of its own with
// a tool of its own. While calls go on, one of the apps is killed and started again.
//
//	go run ./examples/router
//
// The program starts itself once more for each app.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	if err := start(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// start runs an app when it is told which, else the host.
func start(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch len(args) {
	case 0:
		return run(ctx, os.Stdout)
	case 4:
		return runApp(ctx, args[0], args[1], args[2], args[3])
	}
	return fmt.Errorf("usage: router [TOOL KEYFILE URL HOST_PEER_ID]")
}
