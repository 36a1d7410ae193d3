// Command demo runs the main job of the library in one process: a host on an
// ephemeral loopback port, an app that dials it over a real WebSocket, both verified,
// and tools invoked both ways. It prints each step with what was observed and exits
// with status 0 only if every step was as it should be.
package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
