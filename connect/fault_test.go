package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// ledger counts how often each numbered request reached a handler.
type ledger struct {
	mu   sync.Mutex
	runs map[float64]int
}

func newLedger() *ledger { return &ledger{runs: make(map[float64]int)} }

func (l *ledger) note(args json.RawMessage) {
	var in struct{ N float64 }
	if err := json.Unmarshal(args, &in); err != nil {
		panic(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[in.N]++
}

func (l *ledger) count(n float64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[n]
}

// echo answers with its arguments and takes a note.
func (l *ledger) echo(_ context.Context, args json.RawMessage) (any, error) {
	l.note(args)
	return args, nil
}

// back asks the caller for an echo of its own and answers with that.
func (l *ledger) back(ctx context.Context, args json.RawMessage) (any, error) {
	l.note(args)
	caller, _ := connect.SessionFromContext(ctx)
	var in struct{ N float64 }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return caller.InvokeTool(ctx, echoTool, object{"N": in.N + 0.5})
}

func (l *ledger) tools() spoke.ToolHandlers {
	return spoke.ToolHandlers{echoTool: l.echo, otherTool: l.back}
}

// strained runs many invokes both ways over a pair of transports, half of them nested,
// and asserts that each is settled once: with its own answer after one run, or with a
// kind in kinds after at most one.
func strained(t *testing.T, a, b connect.Transport, kinds ...string) {
	t.Helper()
	const calls = 8
	book := newLedger()
	dial, respond := dialConfig(), responderConfig()
	dial.Tools, respond.Tools = book.tools(), book.tools()
	accepted := make(chan *connect.Responder, 1)
	go func() {
		host, err := connect.Accept(context.Background(), b, respond)
		if err != nil {
			assert.Contains(t, []string{connect.CodeTransport, connect.CodeTimeout}, requireCode(t, err, codeOf(err)).Code)
		}
		accepted <- host
	}()
	app, err := connect.Dial(context.Background(), a, dial)
	if err != nil {
		assert.NotEmpty(t, kinds, "%v", err)
		if host := <-accepted; host != nil {
			host.Wait()
		}
		return
	}
	host := <-accepted
	if host == nil {
		app.Wait()
		return
	}
	var all sync.WaitGroup
	for side, s := range []*connect.Session{app.Session, host.Session} {
		for i := range calls {
			n := float64(side*calls + i)
			all.Go(func() {
				tool, want := echoTool, fmt.Sprintf(`{"N":%v}`, n)
				if i%2 == 1 {
					tool, want = otherTool, fmt.Sprintf(`{"N":%v}`, n+0.5)
				}
				got, err := s.InvokeTool(context.Background(), tool, object{"N": n})
				if err == nil {
					assert.Equal(t, want, string(got))
					assert.Equal(t, 1, book.count(n))
					return
				}
				assert.Contains(t, kinds, spoke.KindOf(err), "%v", err)
				assert.LessOrEqual(t, book.count(n), 1)
			})
		}
	}
	all.Wait()
	app.Close()
	app.Wait()
	host.Close()
	host.Wait()
	for n, runs := range book.runs {
		assert.Equal(t, 1, runs, "request %v", n)
	}
}

func codeOf(err error) string {
	failure, _ := errors.AsType[*connect.HandshakeError](err)
	return failure.Code
}

// slow delivers each frame after a delay of its own, in order. What goes one way does
// not wait for what goes the other.
type slow struct {
	connect.Transport
	queue chan []byte
	ended chan struct{}
	once  sync.Once
}

func newSlow(t connect.Transport, delay func() time.Duration) *slow {
	s := &slow{Transport: t, queue: make(chan []byte, 1024), ended: make(chan struct{})}
	go s.deliver(delay)
	return s
}

func (s *slow) deliver(delay func() time.Duration) {
	for {
		select {
		case <-s.ended:
			return
		case frame := <-s.queue:
			select {
			case <-s.ended:
				return
			case <-time.After(delay()):
			}
			if s.Transport.Send(context.Background(), frame) != nil {
				return
			}
		}
	}
}

func (s *slow) Send(_ context.Context, frame []byte) error {
	select {
	case s.queue <- append([]byte(nil), frame...):
		return nil
	case <-s.ended:
		return errBroken
	}
}

func (s *slow) Close() error {
	s.once.Do(func() { close(s.ended) })
	return s.Transport.Close()
}

func TestFaultDelaysThatReorderTheTwoDirections(t *testing.T) {
	for seed := range uint64(50) {
		bubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			delay := func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.Int64N(int64(50 * time.Millisecond)))
			}
			a, b := connect.Pipe()
			strained(t, newSlow(a, delay), newSlow(b, delay))
		})
	}
}

func TestFaultDelaysBeyondTheTimeouts(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			var mu sync.Mutex
			calm := 3 // frames of the handshake
			delay := func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				if calm--; calm >= 0 {
					return 0
				}
				return time.Duration(random.Int64N(int64(3 * time.Second)))
			}
			a, b := connect.Pipe()
			strained(t, newSlow(a, delay), newSlow(b, delay), spoke.KindTimeout)
		})
	}
}

// flaky fails at its nth call of Send or Recv, and says so only or does it as well.
type flaky struct {
	connect.Transport
	mu         sync.Mutex
	send, recv int  // calls until it fails, -1 never
	delivers   bool // a Send that fails has sent its frame all the same
}

func (f *flaky) fails(left *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*left--
	return *left == -1
}

func (f *flaky) Send(ctx context.Context, frame []byte) error {
	if f.fails(&f.send) {
		if f.delivers {
			f.Transport.Send(ctx, frame)
		}
		return errBroken
	}
	return f.Transport.Send(ctx, frame)
}

func (f *flaky) Recv(ctx context.Context) ([]byte, error) {
	if f.fails(&f.recv) {
		return nil, errBroken
	}
	return f.Transport.Recv(ctx)
}

func TestFaultErrorsFromSendAndRecv(t *testing.T) {
	const most = 40 // frames each way: more than there are
	for _, side := range []string{"app", "host"} {
		for _, call := range []string{"Send", "Send, which delivered", "Recv"} {
			t.Run(call+" of the "+side, func(t *testing.T) {
				for n := range most {
					bubble(t, func(t *testing.T) {
						a, b := connect.Pipe()
						f := &flaky{send: -2, recv: -2, delivers: call == "Send, which delivered"}
						if call == "Recv" {
							f.recv = n
						} else {
							f.send = n
						}
						if side == "app" {
							f.Transport, a = a, f
						} else {
							f.Transport, b = b, f
						}
						strained(t, a, b, spoke.KindTransport, spoke.KindSessionClosed)
					})
				}
			})
		}
	}
}

// echoing sends every frame twice, as no transport should.
type echoing struct{ connect.Transport }

func (e *echoing) Send(ctx context.Context, frame []byte) error {
	if err := e.Transport.Send(ctx, frame); err != nil {
		return err
	}
	return e.Transport.Send(ctx, frame)
}

func TestFaultFramesThatArriveTwiceRunNoHandlerTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		book := newLedger()
		respond := responderConfig()
		respond.Tools = book.tools()
		s, p := newWirePeer(t, "host", dialConfig(), respond)
		defer s.Wait()
		defer s.Close()
		p.transport = &echoing{p.transport}
		for n := range 20 {
			p.send(p.sign(connect.RequestEnvelope, p.request(echoTool, object{"arguments": object{"N": n}})))
			p.sequence++
			var errors []string
			for range 2 {
				if answer := p.recv(); answer["error"] != nil {
					errors = append(errors, errorOf(answer))
				}
			}
			require.Equal(t, []string{"invalid_sequence"}, errors)
			assert.Equal(t, 1, book.count(float64(n)))
		}
	})
}
