package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
	"github.com/spoke-peer/spoke-go/connect"
)

// echoCase is a session in which the peer under test invokes the tool once and then
// again, and the answers that it gets to the first.
type echoCase struct {
	Answers []replyStep `json:"answers"`
	Result  outcome     `json:"result"`
	Usable  bool        `json:"usable"`
}

// replyStep is one answer: an honest one, changed.
type replyStep struct {
	Set    map[string]json.RawMessage `json:"set"`
	Drop   []string                   `json:"drop"`
	Change string                     `json:"change"`
}

func checkEcho(ctx context.Context, c echoCase) error {
	return eachRole(func(under role) error { return c.run(ctx, under) })
}

func (c echoCase) run(ctx context.Context, under role) error {
	b, err := openBench(ctx, under, benchConfig{})
	if err != nil {
		return err
	}
	defer b.close()
	// A peer that has signed something is not probed: the invoke has sequence 0.
	if _, err := b.peer.Call(ctx, echoTool, wire.Object{"arguments": wire.Object{}}); err != nil {
		return err
	}
	settled := b.invokeEcho(ctx)
	request, err := b.peer.AwaitRequest(ctx)
	if err != nil {
		return err
	}
	if err := sameText("sequence of the invoke", "0", string(request.Members["sequence"])); err != nil {
		return err
	}
	if err := c.answer(ctx, b.peer, request); err != nil {
		return err
	}
	if err := c.Result.settledAs(settled()); err != nil {
		return err
	}
	return c.second(ctx, b)
}

func (c echoCase) answer(ctx context.Context, p *wire.Peer, request wire.Frame) error {
	for _, step := range c.Answers {
		f, err := step.frame(p, request)
		if err != nil {
			return err
		}
		if err := p.Send(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// second is the invoke that shows whether the session is still usable.
func (c echoCase) second(ctx context.Context, b *bench) error {
	if !c.Usable {
		select {
		case <-b.session.Done():
		case <-ctx.Done():
			return &mismatch{"the session ends", "it does not"}
		}
		_, err := b.session.InvokeTool(ctx, echoTool, nil)
		if !errors.Is(err, connect.ErrSessionClosed) {
			return &mismatch{"a closed session", fmt.Sprint(err)}
		}
		return nil
	}
	settled := b.invokeEcho(ctx)
	request, err := b.peer.AwaitRequest(ctx)
	if err != nil {
		return &mismatch{"a second invoke", err.Error()}
	}
	if err := (echoCase{Answers: []replyStep{{}}}).answer(ctx, b.peer, request); err != nil {
		return err
	}
	return outcome{OK: true}.settledAs(settled())
}

// frame returns the answer to a request.
func (s replyStep) frame(p *wire.Peer, request wire.Frame) (wire.Frame, error) {
	doc := request.Echo()
	doc["payload"] = json.RawMessage(`{"result":{"n":1}}`)
	for name, value := range s.Set {
		doc[name] = value
	}
	for _, name := range s.Drop {
		delete(doc, name)
	}
	f, err := wire.Sign(p.ID, doc)
	if err != nil {
		return f, err
	}
	return wire.Change(f, s.Change)
}

// settledAs holds what an invoke of the echo tool came to.
func (o outcome) settledAs(value json.RawMessage, err error) error {
	if err := o.check(err); err != nil || !o.OK {
		return err
	}
	return sameText("result", `{"n":1}`, string(value))
}
