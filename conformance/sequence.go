package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
)

// sequenceCase is a session in which the peer under test serves.
type sequenceCase struct {
	Steps []requestStep `json:"steps"`
}

// requestStep is one request and what comes back for it.
type requestStep struct {
	Sequence json.RawMessage            `json:"sequence"`
	Repeat   int                        `json:"repeat"`
	Op       string                     `json:"op"`
	Payload  json.RawMessage            `json:"payload"`
	Set      map[string]json.RawMessage `json:"set"`
	Change   string                     `json:"change"`
	Answer   string                     `json:"answer"`
}

func checkSequence(ctx context.Context, c sequenceCase) error {
	return eachRole(func(under role) error { return c.run(ctx, under) })
}

func (c sequenceCase) run(ctx context.Context, under role) error {
	b, err := openBench(ctx, under, benchConfig{})
	if err != nil {
		return err
	}
	defer b.close()
	sent := make([]wire.Frame, len(c.Steps))
	for i, step := range c.Steps {
		if sent[i], err = step.frame(b.peer, sent[:i]); err != nil {
			return err
		}
		if err := step.exchange(ctx, b.peer, sent[i]); err != nil {
			return within(err, "step %d", i+1)
		}
	}
	return c.unanswered(b.peer, sent)
}

// unanswered holds that frames without an answer have none even at the end.
func (c sequenceCase) unanswered(p *wire.Peer, sent []wire.Frame) error {
	for i, step := range c.Steps {
		if step.Answer == noAnswer && p.Early(sent[i]) {
			return within(&mismatch{"no answer", "an answer"}, "step %d", i+1)
		}
	}
	return nil
}

const noAnswer = "none"

// frame returns the step's frame.
func (s requestStep) frame(p *wire.Peer, sent []wire.Frame) (wire.Frame, error) {
	if s.Repeat > 0 {
		if s.Repeat > len(sent) {
			return wire.Frame{}, fmt.Errorf("there is no step %d to repeat", s.Repeat)
		}
		return sent[s.Repeat-1], nil
	}
	f, err := wire.Sign(p.ID, s.document(p))
	if err != nil {
		return f, err
	}
	return wire.Change(f, s.Change)
}

func (s requestStep) document(p *wire.Peer) wire.Object {
	op, payload := s.Op, s.Payload
	if op == "" {
		op = echoTool
	}
	if payload == nil {
		payload = json.RawMessage(`{"arguments":{"n":1}}`)
	}
	doc := p.Request(0, op, payload)
	doc["sequence"] = s.Sequence
	for name, value := range s.Set {
		doc[name] = value
	}
	return doc
}

// exchange sends the frame and judges its answer.
func (s requestStep) exchange(ctx context.Context, p *wire.Peer, f wire.Frame) error {
	if err := p.Send(ctx, f); err != nil || s.Answer == noAnswer {
		return err
	}
	answer, err := p.Answer(ctx, f)
	if err != nil {
		return &mismatch{"answer " + s.Answer, err.Error()}
	}
	if err := same("answer", s.Answer, answer.Outcome()); err != nil {
		return err
	}
	return unexpected("an answer that echoes the request and verifies", p.Verify(f, answer))
}
