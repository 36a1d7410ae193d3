package conformance

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
)

// probeCase is a session in which a responder under test invokes the dialer.
type probeCase struct {
	Speaks  bool       `json:"speaks"`
	Invokes int        `json:"invokes"`
	Answer  *replyStep `json:"answer"`
	Sends   []string   `json:"sends"`
	Result  outcome    `json:"result"`
}

func checkProbe(ctx context.Context, c probeCase) error {
	b, err := openBench(ctx, responderRole, benchConfig{})
	if err != nil {
		return err
	}
	defer b.close()
	if c.Speaks {
		if _, err := b.peer.Call(ctx, echoTool, wire.Object{"arguments": wire.Object{}}); err != nil {
			return err
		}
	}
	b.peer.Serve = func(ctx context.Context, request wire.Frame) error { return c.serve(ctx, b.peer, request) }
	if err := c.invoke(ctx, b); err != nil {
		return err
	}
	// Whatever left before this answer is behind it now.
	if _, err := b.peer.Call(ctx, echoTool, wire.Object{"arguments": wire.Object{}}); err != nil {
		return err
	}
	return c.sent(b.peer.Requests())
}

// invoke starts all invokes, serves the dialer's side until they are settled, and
// judges what they came to.
func (c probeCase) invoke(ctx context.Context, b *bench) error {
	var settled []func() (json.RawMessage, error)
	for range c.Invokes {
		settled = append(settled, b.invokeEcho(ctx))
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.peer.Pump(serving)
	}()
	var failure error
	for _, wait := range settled {
		if err := c.Result.settledAs(wait()); err != nil {
			failure = err
		}
	}
	stop()
	<-done
	return failure
}

// serve answers the probe as the case says and the tool honestly.
func (c probeCase) serve(ctx context.Context, p *wire.Peer, request wire.Frame) error {
	var step replyStep
	if request.TextOf("op") == probeTool && c.Answer != nil {
		step = *c.Answer
	}
	f, err := step.frame(p, request)
	if err != nil {
		return err
	}
	return p.Send(ctx, f)
}

// sent judges the requests that left the responder.
func (c probeCase) sent(requests []wire.Frame) error {
	var ops []string
	for _, r := range requests {
		ops = append(ops, r.TextOf("op"))
		if r.TextOf("op") != probeTool {
			continue
		}
		if err := sameText("payload of the probe", `{"arguments":{}}`, string(r.Members["payload"])); err != nil {
			return err
		}
	}
	return sameText("requests", strings.Join(c.Sends, " "), strings.Join(ops, " "))
}
