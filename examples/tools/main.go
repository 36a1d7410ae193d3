// Command tools offers three real tools over a real session and calls them: a file
// search below one directory, an HTTP fetch from allowed hosts, and a query on an
// SQLite database that can only be read. It tries what each of them must refuse, prints
// each step, and exits with status 0 only if every step was as it should be.
//
//	go run ./examples/tools
//
// The directory, the web server and the database are made for the run.
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
		fmt.Fprintln(os.Stderr, "tools:", err)
		os.Exit(1)
	}
}
