package remotetool_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
	"github.com/spoke-peer/spoke-go/tools/remotetool"
)

type greeting struct {
	Name string `json:"name"`
}

func greet(_ context.Context, in greeting) (string, error) { return "Hello, " + in.Name + "!", nil }

func poem(ctx context.Context, _ struct{}) (remotetool.Announcement, error) {
	const text = "a file,\nin pieces\n"
	return remotetool.StreamFile(ctx, remotetool.File{Reader: strings.NewReader(text), Size: int64(len(text)), Name: "poem.txt"})
}

// newProvider offers two tools.
func newProvider() *remotetool.Provider {
	registry := tools.NewRegistry(tools.Config{Guard: tools.ReadOnly()})
	read := tools.Metadata{Policy: tools.PolicyRead}
	err := registry.Register(
		tools.New("tools.demo.greet", "Greet somebody.", greet).With(read),
		tools.New("tools.demo.poem", "Send a poem.", poem).With(read))
	if err != nil {
		fmt.Println(err)
	}
	return remotetool.NewProvider(registry, remotetool.ProviderConfig{})
}

// link connects a client to the provider, in memory.
func link() (client *remotetool.Client, end func()) {
	a, b := connect.Pipe()
	app, err := remotetool.Open(remotetool.OverTransport(a), remotetool.LinkConfig{Provider: newProvider()})
	if err != nil {
		panic(err)
	}
	host, err := remotetool.Open(remotetool.OverTransport(b), remotetool.LinkConfig{})
	if err != nil {
		panic(err)
	}
	return remotetool.NewClient(host, remotetool.ClientConfig{}), func() {
		host.Close()
		host.Wait()
		app.Wait()
	}
}

func ExampleProvider_Handle() {
	kind, payload := newProvider().Handle(context.Background(), remotetool.TypeCall, []byte(`{"toolId":"demo.greet","arguments":{"name":"Ada"}}`))
	fmt.Println(kind, string(payload))
	// Output: tool.result {"toolId":"demo.greet","success":true,"result":"Hello, Ada!"}
}

func ExampleProvider_HandleMessage() {
	answer := newProvider().HandleMessage(context.Background(), []byte(`{"type":"tool.cancel","id":"1"}`))
	_, payload, _ := bytes.Cut(answer, []byte(`"payload":`))
	fmt.Println(string(payload))
	// Output: {"code":"tool_protocol_unknown_type","message":"\u0022tool.cancel\u0022 is no request","retryable":false}}
}

func ExampleProvider_Lower() {
	_, payload := newProvider().Lower("").Handle(context.Background(), remotetool.TypeCall, []byte(`{"toolId":"demo.greet"}`))
	fmt.Println(string(payload))
	// Output: {"code":"tool_execution_denied","message":"demo.greet may not be called here","retryable":false}
}

func ExampleOpen() {
	client, end := link()
	defer end()
	list, err := client.Tools(context.Background())
	for _, tool := range list {
		fmt.Println(tool.ID, tool.Policy, tool.Executable)
	}
	fmt.Println(err)
	// Output:
	// demo.greet read true
	// demo.poem read true
	// <nil>
}

func ExampleClient_Call() {
	client, end := link()
	defer end()
	result, err := client.Call(context.Background(), remotetool.Call{ID: "demo.greet", Arguments: greeting{"Ada"}})
	fmt.Println(string(result.Result), err)
	_, err = client.Call(context.Background(), remotetool.Call{ID: "demo.greet"})
	fmt.Println(remotetool.CodeOf(err))
	// Output:
	// "Hello, Ada!" <nil>
	// tool_arguments_schema_invalid
}

func ExampleClient_Batch() {
	client, end := link()
	defer end()
	batch, err := client.Batch(context.Background(), []remotetool.Call{
		{ID: "demo.nobody"}, {ID: "demo.greet", Arguments: greeting{"Ada"}},
	}, tools.ContinueOnError)
	fmt.Println(batch.Completed, batch.Success, batch.Items[0].Err.Code, string(batch.Items[1].Result.Result), err)
	// Output: 2 false tool_not_found "Hello, Ada!" <nil>
}

func ExampleClient_Definitions() {
	client, end := link()
	defer end()
	definitions, err := client.Definitions(context.Background(), "demo.greet")
	fmt.Println(string(definitions[0].ArgumentsSchema), err)
	// Output: {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]} <nil>
}

func ExampleClient_Query() {
	client, end := link()
	defer end()
	catalog, err := client.Query(context.Background(), remotetool.Query{Detail: remotetool.DetailIndex, Text: "somebody"})
	fmt.Println(len(catalog.Tools), catalog.TotalCount, catalog.Categories, err)
	// Output: 1 2 map[demo:2] <nil>
}

func ExampleStreamFile() {
	client, end := link()
	defer end()
	var file bytes.Buffer
	_, announcement, err := client.Download(context.Background(), remotetool.Call{ID: "demo.poem"}, &file, nil)
	fmt.Println(announcement.FileName, announcement.SizeBytes, err)
	fmt.Print(file.String())
	// Output:
	// poem.txt 18 <nil>
	// a file,
	// in pieces
}

func ExampleOps() {
	appID, err := connect.GenerateIdentity()
	if err != nil {
		fmt.Println(err)
		return
	}
	hostID, err := connect.GenerateIdentity()
	if err != nil {
		fmt.Println(err)
		return
	}
	config := func(id *connect.Identity, peer connect.PeerID) connect.Config {
		return connect.Config{Identity: id, Allow: []connect.PeerID{peer}, Manifest: spoke.HostCapabilityManifest{
			SchemaVersion: spoke.SchemaVersion, HostID: "demo", Roles: []string{"input-source"},
			Capabilities: []string{connect.CapabilityBaseline, remotetool.Capability}, Namespaces: []string{"demo"},
		}}
	}
	a, b := connect.Pipe()
	app := config(appID, hostID.PeerID())
	app.Ops = remotetool.Ops(newProvider())
	go connect.Dial(context.Background(), a, connect.DialConfig{Config: app, Remote: hostID.PeerID()})
	host, err := connect.Accept(context.Background(), b, connect.ResponderConfig{Config: config(hostID, appID.PeerID())})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := remotetool.NewClient(remotetool.OverSession(host.Session, 0), remotetool.ClientConfig{})
	result, err := client.Call(context.Background(), remotetool.Call{ID: "demo.greet", Arguments: greeting{"Ada"}})
	fmt.Println(string(result.Result), err)
	host.Close()
	host.Wait()
	// Output: "Hello, Ada!" <nil>
}

// A router finds the peer whose tools are served by this protocol.
func ExampleRouterOps() {
	router := connect.NewRouter(connect.RouterConfig{Ops: remotetool.RouterOps()})
	client := remotetool.NewClient(remotetool.OverSession(router, 0), remotetool.ClientConfig{})
	_, err := client.Tools(context.Background())
	fmt.Println(err)
	// Output: tool_execution_denied: the request was not sent: CAPABILITY_PORT_MISSING (no_capable_peer): no peer serves tool.query
}
