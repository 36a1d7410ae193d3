package remotetool

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/tools"
)

// DefaultTimeout bounds a request unless told otherwise.
//
// Source: remote tool spec, section 10.
const DefaultTimeout = 20 * time.Second

// ClientConfig is what a client is made with. Zero fields mean the defaults.
type ClientConfig struct {
	// MaxPolicy hides the peer's tools above it, and refuses to call them. "" hides
	// none; an unknown policy hides all.
	//
	// Source: remote tool spec, section 8.
	MaxPolicy tools.Policy
	// Timeout bounds one request and its answer. Zero means [DefaultTimeout], negative
	// no bound beyond ctx.
	Timeout time.Duration
	// MaxTools is how many tools of a peer's answer are read; more are an error of
	// [CodeProtocol]. Default 10,000.
	MaxTools int
	// MaxDefinitions is how many definitions are kept. Default 10,000.
	MaxDefinitions int
	// VisualTreeID and ScreenshotID are what the peer takes evidence with, for the
	// ceiling. "" means ui.get_visual_tree and ui.get_screenshot.
	VisualTreeID string
	ScreenshotID string
}

// Client calls a peer's tools and keeps its catalog, for one connection. It is safe for
// concurrent use. Every failure is an [*Error].
type Client struct {
	carrier Carrier
	cfg     ClientConfig

	refreshing chan struct{} // capacity 1; who fills it refreshes
	mu         sync.Mutex
	cache      cache
}

// NewClient returns a client over the carrier.
func NewClient(carrier Carrier, cfg ClientConfig) *Client {
	if cfg.MaxPolicy == "" {
		cfg.MaxPolicy = tools.PolicyCritical
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.VisualTreeID == "" {
		cfg.VisualTreeID = "ui.get_visual_tree"
	}
	if cfg.ScreenshotID == "" {
		cfg.ScreenshotID = "ui.get_screenshot"
	}
	orDefault(&cfg.MaxTools, 10_000)
	orDefault(&cfg.MaxDefinitions, 10_000)
	return &Client{carrier: carrier, cfg: cfg, refreshing: make(chan struct{}, 1), cache: cache{definitions: make(map[string]Tool)}}
}

// Call is one call of a tool.
type Call struct {
	// ID is the tool. Ids compare without case.
	ID string
	// Arguments is a JSON object: a [json.RawMessage] goes out as it is, anything else
	// is marshalled, nil means {}.
	Arguments any
	// After asks for evidence once the call succeeded. Nil asks for none.
	After *After
	// CallID is handed back with the result of a batch. It may be left out.
	CallID string
}

// After asks the peer to take evidence after a call.
//
// Source: remote tool spec, section 5.
type After struct {
	// Delay is waited before, up to 2s.
	Delay time.Duration
	// Include names what to take: visualTree or screenshot. Nil means visualTree.
	Include []string
	// VisualTreeArguments and ScreenshotArguments are as a call's arguments.
	VisualTreeArguments any
	ScreenshotArguments any
}

// Result is what a tool answered.
type Result struct {
	ToolID  string
	Message string
	// Result is the tool's result, null when it has none.
	Result json.RawMessage
	// Evidence is what was taken after the call, by name: each the payload of a result
	// or of an error. Nil when there is none.
	Evidence map[string]json.RawMessage
}

// Call runs one tool. Nothing is called twice: after [CodeNotFound] the catalog is
// refreshed, and whether the call is made again is for the caller to decide. A tool can
// answer with that code as well, and then it has run; the protocol does not tell the two
// apart.
//
// Source: remote tool spec, sections 5 and 10.
func (c *Client) Call(ctx context.Context, call Call) (*Result, error) {
	return c.call(ctx, call, nil)
}

func (c *Client) call(ctx context.Context, call Call, seen func(answer)) (*Result, error) {
	payload, err := call.payload()
	if err != nil {
		return nil, err
	}
	if err := c.allowed(ctx, call); err != nil {
		return nil, err
	}
	got, err := c.request(ctx, TypeCall, payload, TypeResult, seen)
	var result *Result
	if err == nil {
		result, err = readResult(got)
	}
	if CodeOf(err) == CodeNotFound {
		_, _ = c.refresh(ctx) // the call failed already
	}
	return result, err
}

// Download runs a tool that sends a file, writes the file to sink and returns once it is
// complete. The announcement is in the result; without one the error is of [CodeStream].
// The client's timeout bounds the answer; ctx alone bounds the file.
//
// Source: remote tool spec, section 9.
func (c *Client) Download(ctx context.Context, call Call, sink io.Writer, options *ReceiveOptions) (*Result, Announcement, error) {
	var (
		file incoming
		a    Announcement
		err  error
	)
	result, callErr := c.call(ctx, call, func(got answer) {
		r, readErr := readResult(got.payload)
		if got.kind != TypeResult || readErr != nil {
			return
		}
		var ok bool
		if a, ok, err = AnnouncementOf(r.Result); ok {
			file, err = c.carrier.expect(a, sink, options)
		}
	})
	switch {
	case callErr != nil:
		if file != nil {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			_, _ = file.wait(ended) // nobody waits for the file any more
		}
		return nil, a, callErr
	case err != nil:
		return result, a, err
	case file == nil:
		return result, a, errorf(CodeStream, "%s announced no file", call.ID)
	}
	_, err = file.wait(ctx)
	return result, a, err
}

// request sends a request and returns the payload of the answer that is due.
func (c *Client) request(ctx context.Context, kind string, payload []byte, due string, seen func(answer)) (json.RawMessage, error) {
	if c.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	got, err := c.carrier.request(ctx, kind, payload, seen)
	switch {
	case err != nil:
		return nil, err
	case got.kind == TypeError:
		return nil, readError(got.payload)
	case got.kind != due:
		return nil, errorf(CodeProtocol, "the answer is a %q and no %s", clip(got.kind), due)
	case got.payload == nil || got.payload[0] != '{':
		return nil, errorf(CodeProtocol, "the answer has no payload")
	}
	return got.payload, nil
}

// payload returns the call as a request carries it.
func (c Call) payload() ([]byte, error) {
	dst := appendText([]byte{'{'}, "toolId", c.ID)
	dst, err := appendObject(dst, "arguments", c.Arguments)
	if err != nil {
		return nil, err
	}
	if c.After != nil {
		after, err := c.After.payload()
		if err != nil {
			return nil, err
		}
		dst = appendRaw(dst, "after", after)
	}
	return append(appendOptional(dst, "callId", c.CallID), '}'), nil
}

func (a *After) payload() ([]byte, error) {
	delay, _ := json.Marshal(min(max(a.Delay, 0), maxDelay).Milliseconds())
	dst := appendRaw([]byte{'{'}, "delayMilliseconds", delay)
	if a.Include != nil {
		dst = appendList(dst, "include", a.Include)
	}
	dst, err := appendObject(dst, "visualTreeArguments", a.VisualTreeArguments)
	if err == nil {
		dst, err = appendObject(dst, "screenshotArguments", a.ScreenshotArguments)
	}
	return append(dst, '}'), err
}

// appendObject appends an application's object, nil as nothing.
func appendObject(dst []byte, name string, v any) ([]byte, error) {
	if v == nil {
		return dst, nil
	}
	raw, err := wirejson.Raw(v)
	if err == nil {
		err = jcs.Check(raw, maxDepth-8)
	}
	if err != nil {
		return nil, errorf(CodeArgumentsInvalid, "%s: %w", name, err)
	}
	if present(raw) == nil {
		return dst, nil
	}
	if raw = json.RawMessage(strings.TrimSpace(string(raw))); raw[0] != '{' {
		return nil, errorf(CodeArgumentsInvalid, "%s must be an object", name)
	}
	return appendRaw(dst, name, raw), nil
}

// readResult reads the payload of a result.
func readResult(payload json.RawMessage) (*Result, error) {
	m, err := membersOf(payload)
	if err != nil {
		return nil, errorf(CodeProtocol, "the result cannot be read: %w", err)
	}
	if string(m["success"]) == "false" {
		return nil, readError(payload)
	}
	r := &Result{Result: m["result"]}
	r.ToolID, _ = textOf(m["toolId"])
	r.Message, _ = textOf(m["message"])
	if r.Result == nil {
		r.Result = json.RawMessage("null")
	}
	if evidence, err := membersOf(m["evidence"]); err == nil {
		r.Evidence = evidence
	}
	return r, nil
}
