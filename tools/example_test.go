package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

type greetArgs struct {
	Name string `json:"name" jsonschema:"whom to greet" minLength:"1"`
	Tone string `json:"tone" enum:"plain,loud" default:"plain"`
}

type greeting struct {
	Text string `json:"text"`
}

func greet(_ context.Context, in greetArgs) (greeting, error) {
	if in.Tone == "loud" {
		return greeting{"HELLO " + in.Name}, nil
	}
	return greeting{"hello " + in.Name}, nil
}

const greetID = "tools.demo.greet"

// greeter returns a registry with one tool.
func greeter(middleware ...tools.Middleware) *tools.Registry {
	r := tools.NewRegistry(tools.Config{Guard: tools.ReadOnly(), Middleware: middleware})
	err := r.Register(tools.New(greetID, "Greet somebody.", greet).With(tools.Metadata{Policy: tools.PolicyRead}))
	if err != nil {
		fmt.Println(err)
	}
	return r
}

func ExampleNew() {
	tool := tools.New(greetID, "Greet somebody.", greet)
	fmt.Println(string(tool.Descriptor().Input))
	fmt.Println(string(tool.Descriptor().Output))
	// Output:
	// {"type":"object","properties":{"name":{"type":"string","description":"whom to greet","minLength":1},"tone":{"type":"string","default":"plain","enum":["plain","loud"]}},"required":["name"],"additionalProperties":false}
	// {"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}
}

func ExampleNew_inexpressible() {
	type args struct {
		Filters []struct {
			Match func(string) bool `json:"match"`
		} `json:"filters"`
	}
	tool := tools.New("tools.demo.find", "Find.", func(context.Context, args) (any, error) { return nil, nil })
	fmt.Println(tools.NewRegistry(tools.Config{}).Register(tool))
	// Output: INVALID_INPUT: tool tools.demo.find: input: filters[].match: func(string) bool cannot be expressed in JSON
}

func ExampleRaw() {
	tool := tools.Raw(spoke.ToolDescriptor{
		CapabilityID: "tools.demo.count",
		Description:  "Count the members of the arguments.",
		Output:       json.RawMessage(`{"type": "integer"}`),
	}, func(_ context.Context, args json.RawMessage) (any, error) {
		var members map[string]json.RawMessage
		err := json.Unmarshal(args, &members)
		return len(members), err
	}).With(tools.Metadata{Policy: tools.PolicyRead})

	r := tools.NewRegistry(tools.Config{Guard: tools.ReadOnly()})
	fmt.Println(r.Register(tool))
	result, err := r.InvokeTool(context.Background(), "tools.demo.count", map[string]int{"a": 1, "b": 2})
	fmt.Println(string(result), err)
	// Output:
	// <nil>
	// 2 <nil>
}

type celsius float64

func (celsius) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","pattern":"°C$"}`)
}

func (c celsius) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%.1f°C", float64(c)), nil }

func ExampleSchemaProvider() {
	tool := tools.New("tools.demo.heat", "Measure.", func(context.Context, struct{}) (celsius, error) { return 21, nil })
	fmt.Println(string(tool.Descriptor().Output))
	// Output: {"type":"string","pattern":"°C$"}
}

func ExampleTool_With() {
	tool := tools.New("tools.disk.format", "Format the disk.", func(context.Context, struct{}) (any, error) { return nil, nil }).
		With(tools.Metadata{
			Policy:      tools.PolicyCritical,
			Keywords:    []string{"erase"},
			Timeout:     time.Minute,
			Concurrency: 1,
			Probe: func(context.Context) tools.Availability {
				return tools.Unavailable("no_disk", "the disk is out")
			},
		})
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	fmt.Println(r.Register(tool))
	_, err := r.InvokeTool(context.Background(), tool.ID(), nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// INTERNAL_ERROR (unavailable): tools.disk.format is not available: the disk is out
}

func ExampleRegistry_Describe() {
	m := greeter().Describe(spoke.HostCapabilityManifest{
		SchemaVersion: spoke.SchemaVersion,
		HostID:        "demo",
		Roles:         []string{"input-source"},
		Capabilities:  []string{"spoke-baseline"},
	})
	fmt.Println(m.Capabilities, m.Namespaces, len(m.Tools))
	// Output: [spoke-baseline tools.demo.greet] [demo] 1
}

func ExampleRegistry_Lower() {
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	err := r.Register(
		tools.New("tools.notes.read", "Read.", greet).With(tools.Metadata{Policy: tools.PolicyRead}),
		tools.New("tools.notes.erase", "Erase.", greet).With(tools.Metadata{Policy: tools.PolicyCritical}),
	)
	fmt.Println(err)
	guest := r.Lower(tools.PolicyRead) // hand it to the guest's session
	for _, e := range guest.List(context.Background()) {
		fmt.Println(e.ID())
	}
	_, err = guest.InvokeTool(context.Background(), "tools.notes.erase", nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// tools.notes.read
	// CAPABILITY_PORT_MISSING (denied): tools.notes.erase may not be called here
}

func ExampleRegistry_Replace() {
	r := greeter()
	before, _ := r.Find(context.Background(), greetID)
	err := r.Replace(tools.New(greetID, "Greet loudly.", greet).With(tools.Metadata{Policy: tools.PolicyRead}))
	after, _ := r.Find(context.Background(), greetID)
	fmt.Println(err, before.Generation != after.Generation, after.Descriptor().Description)
	fmt.Println(r.Remove(greetID), len(r.List(context.Background())))
	// Output:
	// <nil> true Greet loudly.
	// true 0
}

func ExampleMiddleware() {
	logging := func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			result, err := next(ctx, call)
			caller, _ := spoke.CallerFromContext(ctx)
			fmt.Printf("%s called %s: %q\n", caller.PeerID, call.Tool.ID(), spoke.CodeOf(err))
			return result, err
		}
	}
	r := greeter(logging)
	ctx := spoke.WithCaller(context.Background(), spoke.Caller{PeerID: "12D3KooWPeer"}) // a session does this
	r.InvokeTool(ctx, greetID, map[string]string{"name": "Ada"})
	r.InvokeTool(ctx, greetID, nil)
	// Output:
	// 12D3KooWPeer called tools.demo.greet: ""
	// 12D3KooWPeer called tools.demo.greet: "INVALID_INPUT"
}

func ExampleParsePolicy() {
	p, err := tools.ParsePolicy("write")
	fmt.Println(p.Permits(tools.PolicyRead), p.Permits(tools.PolicyCritical), err)
	_, err = tools.ParsePolicy("Write")
	fmt.Println(err)
	// Output:
	// true false <nil>
	// INVALID_INPUT: "Write" is not a policy (read, write or critical)
}

func ExampleFailureOf() {
	full := func(context.Context, struct{}) (any, error) {
		return nil, &tools.Failure{Code: "disk_full", Message: "no room left", Retryable: true}
	}
	r := tools.NewRegistry(tools.Config{Guard: tools.FullAccess()})
	fmt.Println(r.Register(tools.New("tools.disk.save", "Save.", full)))
	_, err := r.InvokeTool(context.Background(), "tools.disk.save", nil)
	if f, ok := tools.FailureOf(err); ok {
		fmt.Println(f.Code, f.Retryable, spoke.CodeOf(err))
	}
	// Output:
	// <nil>
	// disk_full true INTERNAL_ERROR
}

func ExampleCall() {
	out, err := tools.Call[greetArgs, greeting](context.Background(), greeter(), greetID, greetArgs{Name: "Ada", Tone: "loud"})
	fmt.Println(out.Text, err)
	// Output: HELLO Ada <nil>
}

func ExampleOrchestrate() {
	_, err := tools.Orchestrate(context.Background(), nil, greetID, nil)
	var r *spoke.Reject
	if errors.As(err, &r) {
		fmt.Println(r.Code, r.Details["capability"])
	}
	// Output: CAPABILITY_PORT_MISSING tools.demo.greet
}

func ExampleBatch() {
	results, err := tools.Batch(context.Background(), greeter(), []tools.BatchCall{
		{ID: greetID, Args: map[string]string{"name": "Ada"}},
		{ID: greetID, Args: map[string]string{}},
		{ID: greetID, Args: map[string]string{"name": "Bob"}},
	}, tools.ContinueOnError)
	for _, r := range results {
		fmt.Printf("%s%s\n", r.Result, spoke.CodeOf(r.Err))
	}
	fmt.Println(err)
	// Output:
	// {"text":"hello Ada"}
	// INVALID_INPUT
	// {"text":"hello Bob"}
	// <nil>
}

func ExampleDiscover() {
	peer := greeter() // stands for a session and its RemoteManifest
	catalog := tools.Discover(peer.Describe(spoke.HostCapabilityManifest{}), tools.NewSchemaCache(0))
	for _, d := range catalog.List() {
		fmt.Println(d.CapabilityID, "-", d.Description)
	}
	checked, err := catalog.Checked(peer, greetID)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = checked.InvokeTool(context.Background(), greetID, map[string]string{"name": ""}) // nothing is sent
	fmt.Println(err)
	// Output:
	// tools.demo.greet - Greet somebody.
	// INVALID_INPUT: arguments do not fit the tool's input: /name: String length must be greater than or equal to 1
}
