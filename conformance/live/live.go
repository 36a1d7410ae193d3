package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/manifest"
)

// Role is which side of the handshake the peer under test is.
type Role string

// The roles of a peer under test.
const (
	Responder Role = "responder"
	Dialer    Role = "dialer"
)

// Config is what a run needs to know. Its zero fields have defaults unless it says
// otherwise.
type Config struct {
	// Role is what the peer under test is. Required.
	Role Role
	// Open returns the next connection with the peer under test: it dials a responder,
	// or waits until a dialer connects. An error that is [context.DeadlineExceeded] says
	// that none will come any more: it is not called again. Required.
	Open func(ctx context.Context) (connect.Transport, error)
	// Identity is this side's key pair, which the peer under test must allow. Required.
	Identity *connect.Identity
	// Remote is the peer under test; empty takes whoever is met first.
	Remote connect.PeerID
	// Manifest is this side's manifest as JSON. Nil mirrors the peer's, so that
	// everything it has is negotiated.
	Manifest json.RawMessage
	// Tool is the tool of the peer's that is invoked, and Args its arguments. Empty
	// takes the first tool that is negotiated and arguments that fit its schema. A tool
	// that is not negotiated is a [*ToolError].
	Tool string
	Args json.RawMessage
	// Timeout bounds the wait for one reaction. Zero means 3s.
	Timeout time.Duration
	// Progress, if set, is called after each rule.
	Progress func(Result)

	only string // plays only the rules whose names contain it
}

// ToolError is a Config.Tool that was not negotiated: an honest peer refuses to serve it,
// so that nothing can be told from its answers.
type ToolError struct {
	Tool       string
	Negotiated []string // what both manifests list
}

func (e *ToolError) Error() string {
	return fmt.Sprintf("live: %s was not negotiated, only %s", e.Tool, strings.Join(e.Negotiated, ", "))
}

const defaultTimeout = 3 * time.Second

// Run plays the script against the peer under test. The error says why no report could
// be made: a bad Config, which also has a Tool that the peer cannot be asked for, or a peer
// with which no session at all was possible. When ctx ends the remaining rules are reported
// as not run.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Open == nil || cfg.Identity == nil || (cfg.Role != Responder && cfg.Role != Dialer) {
		return nil, errors.New("live: Config needs Role, Open and Identity")
	}
	if cfg.Tool != "" && !manifest.ValidToolID(cfg.Tool) {
		return nil, fmt.Errorf("live: Config.Tool %q is no tool id", cfg.Tool)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	s := &script{Config: cfg}
	defer s.discard()
	if err := s.meet(ctx); err != nil {
		return nil, fmt.Errorf("live: no session with the peer: %w", err)
	}
	if negotiated := s.shared.agreed.Negotiated; cfg.Tool != "" && !slices.Contains(negotiated, cfg.Tool) {
		return nil, &ToolError{cfg.Tool, negotiated}
	}
	report := &Report{Role: cfg.Role, Peer: s.Remote, Tool: s.Tool}
	for _, r := range rulesFor(cfg.Role) {
		if !strings.Contains(r.name, cfg.only) {
			continue
		}
		result := s.judge(ctx, r)
		report.Results = append(report.Results, result)
		if cfg.Progress != nil {
			cfg.Progress(result)
		}
	}
	report.finish()
	return report, nil
}

// rulesFor returns the rules in the order of the script. Those that share a session
// come first, while the peer is known to answer, and last those after which a dialer may
// stay away.
func rulesFor(role Role) []rule {
	list := append(serveRules(), frameRules()...)
	if role == Responder {
		return slices.Concat(responderRules(), list, helloRules(), strangeHelloRules())
	}
	return slices.Concat(list, helloRules(), dialerRules(), strangeHelloRules(), strangeAnswerRules())
}
