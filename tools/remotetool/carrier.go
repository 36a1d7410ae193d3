package remotetool

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
)

// Carrier takes a client's requests to a provider: a [*Link], or what [OverSession]
// returns.
type Carrier interface {
	// request sends and waits for the answer, payload unwrapped. Seen, if not nil, is
	// run with the answer before anything that the peer sent after it is looked at.
	request(ctx context.Context, kind string, payload json.RawMessage, seen func(answer)) (answer, error)
	// expect makes ready for an announced file; it is called from seen.
	expect(a Announcement, sink io.Writer, options *ReceiveOptions) (incoming, error)
}

// incoming is a file that was announced.
type incoming interface {
	// wait returns how much was written once the file is complete.
	wait(ctx context.Context) (int64, error)
}

// answer is what came back.
type answer struct {
	kind    string
	payload json.RawMessage
}

var _ Carrier = (*Link)(nil)

func (l *Link) request(ctx context.Context, kind string, payload json.RawMessage, seen func(answer)) (answer, error) {
	p := &pending{answer: make(chan judged, 1), seen: seen}
	id := uuid.NewString()
	l.mu.Lock()
	l.pending[id] = p
	l.mu.Unlock()
	e := envelope{kind: kind, id: id, payload: payload}
	err := l.write(ctx, TextMessage, e.text(l.cfg.Provider.now()))
	if err == nil {
		err = l.await(ctx, p)
	}
	if err != nil && l.forget(id) {
		return answer{}, err
	}
	// The reader has the answer, or is about to hand it over.
	return l.unwrapped(<-p.answer)
}

// await returns nil once the answer has come. It leaves it in its place.
func (l *Link) await(ctx context.Context, p *pending) error {
	select {
	case got := <-p.answer:
		p.answer <- got
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	case <-l.ctx.Done():
		return l.closedError()
	}
}

// unwrapped unwraps the payload of an answer unless the reader had to.
func (l *Link) unwrapped(got judged) (answer, error) {
	if got.done {
		return got.answer, got.err
	}
	plain, err := unwrap(got.answer.payload, l.cfg.MaxInflatedBytes)
	return answer{got.answer.kind, plain}, err
}

// forget gives a request up, false when its answer came first.
func (l *Link) forget(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waiting := l.pending[id]
	delete(l.pending, id)
	return waiting
}

func (l *Link) expect(a Announcement, sink io.Writer, options *ReceiveOptions) (incoming, error) {
	t, err := l.inbox.expect(a, sink, options)
	if err != nil {
		return nil, err
	}
	return t, nil
}
