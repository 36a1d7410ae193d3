package remotetool

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// ProviderConfig is what a provider is made with. It is copied. The zero value is right
// for most.
type ProviderConfig struct {
	// Names gives tools of the registry, by their id there, another id here. A tool
	// without one is <namespace>.<tool> here. A tool that shall exist in this protocol
	// only belongs in a registry that serves no SPOKE session.
	//
	// Names are trimmed, and compare without case. A blank one is none. Of tools with
	// the same name the first by its id in the registry has it, and the others have
	// none. A tool without a name whose id here is the name of another cannot be
	// reached here, and is not listed.
	//
	// Source: remote tool spec, section 11.
	Names map[string]string

	// VisualTreeID and ScreenshotID are the tools that evidence is taken with. ""
	// means ui.get_visual_tree and ui.get_screenshot.
	//
	// Source: remote tool spec, section 5.
	VisualTreeID string
	ScreenshotID string
}

// Provider answers requests from a registry, under the registry's guard. It is safe for
// concurrent use and serves any number of carriers at once.
type Provider struct {
	registry *tools.Registry
	catalogs *catalogs
	cfg      ProviderConfig
	now      func() time.Time
}

// NewProvider returns a provider over the registry.
func NewProvider(registry *tools.Registry, cfg ProviderConfig) *Provider {
	if cfg.VisualTreeID == "" {
		cfg.VisualTreeID = "ui.get_visual_tree"
	}
	if cfg.ScreenshotID == "" {
		cfg.ScreenshotID = "ui.get_screenshot"
	}
	return &Provider{registry: registry, catalogs: newCatalogs(cfg.Names), cfg: cfg, now: time.Now}
}

// Lower returns a view of the provider in which no tool above the policy is listed or
// run, for a session that may do less. It can only lower.
//
// Source: remote tool spec, section 8.
func (p *Provider) Lower(policy tools.Policy) *Provider {
	view := *p
	view.registry = p.registry.Lower(policy)
	return &view
}

// Handle serves one request: its type and payload in, those of the answer out, the
// payload as it is before section 7 wraps it. Nil is no payload. Whatever is wrong is
// answered as a tool.error. All carriers answer with it.
//
// Source: remote tool spec, sections 2, 5 and 6.
func (p *Provider) Handle(ctx context.Context, requestType string, payload json.RawMessage) (answerType string, answer json.RawMessage) {
	if len(payload) > 0 {
		if err := jcs.Check(payload, maxDepth); err != nil {
			return failed(errorf(CodeInvalidRequest, "the payload is refused: %w", err))
		}
	}
	return p.handle(ctx, requestType, payload)
}

// handle is Handle for a payload that was judged.
func (p *Provider) handle(ctx context.Context, requestType string, payload json.RawMessage) (string, json.RawMessage) {
	ctx = withRequest(ctx)
	switch requestType {
	case TypeQuery:
		return p.answerQuery(ctx, payload)
	case TypeCall:
		return p.answerCall(ctx, payload)
	case TypeBatch:
		return p.answerBatch(ctx, payload)
	}
	return failed(errorf(CodeUnknownType, "%q is no request", clip(requestType)))
}

// HandleMessage serves one text of any message stream and returns the text to answer
// with, nil for a text that is not ours or is itself an answer.
//
// Source: remote tool spec, section 1.
func (p *Provider) HandleMessage(ctx context.Context, text []byte) []byte {
	e, ours, fault := parseEnvelope(text)
	if !ours || isAnswer(e.kind) {
		return nil
	}
	return p.answerTo(ctx, e, fault)
}

// answerTo serves a request's envelope and returns the text of the answer.
func (p *Provider) answerTo(ctx context.Context, e envelope, fault *Error) []byte {
	var kind string
	var payload []byte
	switch {
	case !isRequest(e.kind):
		kind, payload = failed(errorf(CodeUnknownType, "%q is no request", clip(e.kind)))
	case fault != nil:
		kind, payload = failed(fault)
	default:
		kind, payload = p.handle(withIDs(ctx, e.id, e.sessionID), e.kind, e.payload)
	}
	return e.answer(kind, wrap(payload)).text(p.now())
}

// failed is the answer that carries an error.
func failed(e *Error) (string, json.RawMessage) { return TypeError, e.payload() }

// clip shortens text that a peer chose.
func clip(text string) string {
	const longest = 100
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// request is what is known of the request that is served.
type request struct{ id, sessionID string }

type requestKey struct{}

func withIDs(ctx context.Context, id, sessionID string) context.Context {
	return context.WithValue(ctx, requestKey{}, request{id, sessionID})
}

// withRequest makes sure that ctx says which request it is for. A carrier without
// request ids gets one of its own, and the id of the SPOKE session.
func withRequest(ctx context.Context) context.Context {
	if _, ok := ctx.Value(requestKey{}).(request); ok {
		return ctx
	}
	caller, _ := spoke.CallerFromContext(ctx)
	return withIDs(ctx, uuid.NewString(), caller.SessionID)
}

func requestOf(ctx context.Context) request {
	r, _ := ctx.Value(requestKey{}).(request)
	return r
}
