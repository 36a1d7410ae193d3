// Command embed-responder is the smallest host: it accepts apps that are on its
// allowlist, serves one tool, and while serving it runs a tool of the calling app's.
//
//	go run ./examples/embed-responder -allow APP_PEER_ID
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
)

const (
	greetTool = "tools.host.greet" // ours
	nowTool   = "tools.clock.now"  // the app's
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8787", "address to listen on")
	keyFile := flag.String("key", "host.key", "private key file; made if there is none")
	allow := flag.String("allow", "", "peer ids of the apps to accept, separated by commas")
	flag.Parse()
	if err := serve(*listen, *keyFile, *allow); err != nil {
		log.Fatal(err)
	}
}

func serve(listen, keyFile, allow string) error {
	id, err := loadOrCreate(keyFile)
	if err != nil {
		return err
	}
	allowed, err := connect.ParseAllowlist(strings.NewReader(strings.ReplaceAll(allow, ",", "\n")))
	if err != nil {
		return fmt.Errorf("-allow: %w", err)
	}
	server, err := connect.NewServer(connect.ServerConfig{
		ResponderConfig: connect.ResponderConfig{Config: connect.Config{
			Identity: id,
			Manifest: hostManifest(),
			Allow:    allowed,
			Tools:    spoke.ToolHandlers{greetTool: greet},
			Logger:   slog.Default(),
		}},
		OnOpen: func(app *connect.Responder) {
			log.Printf("%s connected and offers %d tool(s)", app.RemotePeerID(), len(app.RemoteTools()))
		},
		OnClose: func(app *connect.Responder, cause error) { log.Printf("%s left: %v", app.RemotePeerID(), cause) },
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("host %s\nurl ws://%s\n", id.PeerID(), listener.Addr())
	web := &http.Server{Handler: ws.Handler(server, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}

// greet runs the calling app's clock in the middle of its own work.
func greet(ctx context.Context, args json.RawMessage) (any, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "greet: %w", err)
	}
	app, _ := connect.SessionFromContext(ctx)
	now, err := app.InvokeTool(ctx, nowTool, nil)
	if err != nil {
		return nil, err
	}
	return map[string]any{"text": "Hello " + in.Name + "!", "your_clock_says": now}, nil
}

func hostManifest() spoke.HostCapabilityManifest {
	return spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion,
		HostID:        "embed-responder",
		Roles:         []string{"assembler"},
		Capabilities:  []string{connect.CapabilityBaseline, greetTool, nowTool},
		Namespaces:    []string{"host"},
		Tools: []spoke.ToolDescriptor{{
			SchemaVersion: spoke.SchemaVersion,
			CapabilityID:  greetTool,
			Op:            greetTool,
			Description:   "Greet somebody by name.",
			Input:         json.RawMessage(`{"type":"object","properties":{"Name":{"type":"string"}},"required":["Name"]}`),
		}},
	}
}

func loadOrCreate(path string) (*connect.Identity, error) {
	id, err := connect.LoadIdentity(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return connect.CreateIdentity(path, nil)
	}
	return id, err
}
