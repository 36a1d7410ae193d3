// Command embed-dialer is the smallest app: it dials a host, offers it one tool, and
// invokes a tool of the host's.
//
//	go run ./examples/embed-dialer -host HOST_PEER_ID
//
// Without -host it prints its own peer id, which the host must allow.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/spoke"
)

const (
	greetTool = "tools.host.greet" // the host's
	nowTool   = "tools.clock.now"  // ours
)

func main() {
	url := flag.String("url", "ws://127.0.0.1:8787", "where the host listens")
	keyFile := flag.String("key", "app.key", "private key file; made if there is none")
	host := flag.String("host", "", "peer id of the host")
	flag.Parse()
	if err := run(context.Background(), *url, *keyFile, connect.PeerID(*host)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, keyFile string, host connect.PeerID) error {
	id, err := loadOrCreate(keyFile)
	if err != nil {
		return err
	}
	fmt.Println("app", id.PeerID())
	if host == "" {
		fmt.Println("start the host with -allow", id.PeerID(), "and give its peer id as -host")
		return nil
	}
	transport, err := ws.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	adapter, err := connect.Dial(ctx, transport, connect.DialConfig{
		Config: connect.Config{
			Identity: id,
			Manifest: appManifest(),
			Allow:    []connect.PeerID{host},
			Tools:    spoke.ToolHandlers{nowTool: now},
		},
		Remote: host,
	})
	if err != nil {
		return err
	}
	defer adapter.Wait() // until the goodbye is said
	defer adapter.Close()
	answer, err := adapter.InvokeTool(ctx, greetTool, map[string]string{"Name": "Ada"})
	if err != nil {
		return err
	}
	fmt.Println(string(answer))
	return nil
}

// now serves the host's invokes of our tool.
func now(context.Context, json.RawMessage) (any, error) {
	return time.Now().Format(time.TimeOnly), nil
}

func appManifest() spoke.HostCapabilityManifest {
	return spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion,
		HostID:        "embed-dialer",
		Roles:         []string{"input-source"},
		Capabilities:  []string{connect.CapabilityBaseline, nowTool, greetTool},
		Namespaces:    []string{"clock"},
		Tools: []spoke.ToolDescriptor{{
			SchemaVersion: spoke.SchemaVersion,
			CapabilityID:  nowTool,
			Op:            nowTool,
			Description:   "Tell the time of the app's clock.",
			Output:        json.RawMessage(`{"type":"string"}`),
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
