package remotetool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/tools"
)

// LinkConfig is what a link is made with. Zero fields mean the defaults; negative ones
// are refused.
type LinkConfig struct {
	// Provider answers the peer's requests. Nil offers nothing.
	Provider *Provider
	// MaxToolPolicy lowers what the peer may list and call. "" lowers nothing; an
	// unknown policy permits nothing.
	//
	// Source: remote tool spec, section 8.
	MaxToolPolicy tools.Policy

	// MaxMessageBytes is the largest message that is read. Default 32 MiB.
	MaxMessageBytes int
	// MaxInflatedBytes is how large a wrapped answer may become. Default
	// [DefaultInflatedBytes].
	MaxInflatedBytes int
	// MaxRequests is how many of the peer's requests are served at once; more are
	// answered with [CodeOverloaded]. Default 64.
	MaxRequests int
	// MaxTransfers is how many files are received at once. Default 64.
	MaxTransfers int
	// WriteTimeout bounds the writing of one message; when it passes, the link ends.
	// Default 10s.
	WriteTimeout time.Duration

	// Other gets the messages that are not this protocol's, on the reading goroutine:
	// nothing else is read until it returns. Nil drops them.
	Other func(kind int, data []byte)

	// Logger gets the panics of the application's code. Nil discards them.
	Logger *slog.Logger
}

// check reports a value that no link could work with.
func (c *LinkConfig) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxMessageBytes", int64(c.MaxMessageBytes)},
		{"MaxInflatedBytes", int64(c.MaxInflatedBytes)},
		{"MaxRequests", int64(c.MaxRequests)},
		{"MaxTransfers", int64(c.MaxTransfers)},
		{"WriteTimeout", int64(c.WriteTimeout)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("remotetool: LinkConfig.%s is negative", limit.name)
		}
	}
	return nil
}

func (c *LinkConfig) setDefaults() {
	orDefault(&c.MaxMessageBytes, 32<<20)
	orDefault(&c.MaxInflatedBytes, DefaultInflatedBytes)
	orDefault(&c.MaxRequests, 64)
	orDefault(&c.MaxTransfers, 64)
	orDefault(&c.WriteTimeout, 10*time.Second)
	if c.Provider == nil {
		c.Provider = NewProvider(tools.NewRegistry(tools.Config{}), ProviderConfig{})
	}
	if c.MaxToolPolicy != "" {
		c.Provider = c.Provider.Lower(c.MaxToolPolicy)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func orDefault[T int | int64 | time.Duration](value *T, fallback T) {
	if *value <= 0 {
		*value = fallback
	}
}

// Link is the protocol on one connection. Both sides may ask and answer. It is safe for
// concurrent use.
//
// One goroutine reads; it waits for no handler and no write, only for the sink of a file
// that is slower than the peer sends it.
type Link struct {
	conn   Conn
	cfg    LinkConfig
	ctx    context.Context
	cancel context.CancelCauseFunc
	slot   chan struct{} // who holds it writes
	inbox  *inbox

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
	pending map[string]*pending
	serving int
	refused int
}

// pending is a request that waits for its answer.
type pending struct {
	answer chan judged // capacity 1; who took the pending sends, and never waits
	seen   func(answer)
}

// judged is an answer, and whether its payload was unwrapped.
type judged struct {
	answer answer
	done   bool
	err    error
}

var errClosedHere = errors.New("closed")

// Open runs the protocol over a connection, which the link takes over. It ends when
// either side closes. The error is about cfg; the connection is closed then.
func Open(conn Conn, cfg LinkConfig) (*Link, error) {
	if err := cfg.check(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	cfg.setDefaults()
	l := &Link{conn: conn, cfg: cfg, slot: make(chan struct{}, 1), pending: make(map[string]*pending)}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.inbox = &inbox{link: l, transfers: make(map[string]*transfer)}
	if limiter, ok := conn.(interface{ SetReadLimit(int64) }); ok {
		limiter.SetReadLimit(int64(cfg.MaxMessageBytes))
	}
	l.run(l.read)
	return l, nil
}

// Close ends the link and returns at once; once Wait has returned, the peer was told if
// it could be. Requests that wait fail with [CodeClosed].
func (l *Link) Close() error {
	l.end(errClosedHere)
	return nil
}

// Wait returns once the link has ended and everything it started has, with the reason:
// nil when this side closed it, io.EOF when the peer did; a *websocket.Conn tells the
// latter as an error of its own, with the code that the peer gave.
func (l *Link) Wait() error {
	<-l.ctx.Done()
	l.running.Wait()
	if cause := context.Cause(l.ctx); cause != errClosedHere {
		return cause
	}
	return nil
}

// Done is closed when the link ends.
func (l *Link) Done() <-chan struct{} { return l.ctx.Done() }

// goodbye is the close message for a normal end, code 1000.
var goodbye = []byte{0x03, 0xE8}

const (
	closeMessage = 8
	closeGrace   = time.Second
)

func (l *Link) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.running.Go(l.hangUp)
	l.cancel(cause)
}

// hangUp says goodbye, for which it may have to wait for a write, and closes.
func (l *Link) hangUp() {
	if polite, ok := l.conn.(interface {
		WriteControl(int, []byte, time.Time) error
	}); ok {
		_ = polite.WriteControl(closeMessage, goodbye, time.Now().Add(closeGrace))
	}
	_ = l.conn.Close() // the link is over either way
}

// run starts a goroutine that Wait waits for, false when the link has ended.
func (l *Link) run(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.running.Go(f)
	return true
}

func (l *Link) read() {
	for {
		kind, data, err := l.conn.ReadMessage()
		if err != nil {
			l.end(readCause(err))
			return
		}
		if len(data) > l.cfg.MaxMessageBytes {
			l.end(errorf(CodeProtocol, "a message has more than %d bytes", l.cfg.MaxMessageBytes))
			return
		}
		if !l.receive(kind, data) && l.cfg.Other != nil {
			l.contain("the receiver of other messages", func() { l.cfg.Other(kind, data) })
		}
	}
}

// readCause tells a peer that said goodbye as io.EOF.
func readCause(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// receive handles one message, false when it is not ours.
func (l *Link) receive(kind int, data []byte) bool {
	if kind == BinaryMessage {
		return l.inbox.deliver(data)
	}
	e, ours, fault := parseEnvelope(data)
	switch {
	case !ours:
		return l.settleBroken(data)
	case isAnswer(e.kind):
		l.settle(e)
	default:
		l.serve(e, fault)
	}
	return true
}

// settle hands an answer to the request it replies to. An answer that nobody asked for,
// or that was given already, is dropped.
//
// Source: remote tool spec, sections 1 and 10.
func (l *Link) settle(e envelope) {
	p := l.takePending(e.replyTo)
	if p == nil {
		return
	}
	got := judged{answer: answer{e.kind, e.payload}}
	if p.seen != nil {
		got.answer, got.err = l.unwrapped(got)
		got.done = true
		if got.err == nil {
			p.seen(got.answer)
		}
	}
	p.answer <- got
}

func (l *Link) takePending(id string) *pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pending[id]
	delete(l.pending, id)
	return p
}

// settleBroken fails the request that a text replies to which cannot be read: it would
// wait in vain. False for a text that is no answer as far as it can be told.
//
// Source: remote tool spec, sections 1 and 7.
func (l *Link) settleBroken(text []byte) bool {
	head := headOf(text)
	kind, _ := textOf(head["type"])
	if !isAnswer(kind) || !head.ownCapability() {
		return false
	}
	replyTo, _ := textOf(head["replyTo"])
	if p := l.takePending(replyTo); p != nil {
		p.answer <- judged{done: true, err: errorf(CodeProtocol, "the answer cannot be read: %w", jcs.Check(text, maxDepth))}
	}
	return true
}

// headOf returns the members of an object as far as it can be read.
func headOf(text []byte) members {
	m := make(members)
	if !bytes.Contains(text, []byte(`"replyTo"`)) {
		return m
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return m
	}
	for dec.More() {
		name, _ := dec.Token()
		text, ok := name.(string)
		var value json.RawMessage
		if !ok || dec.Decode(&value) != nil {
			break
		}
		if _, twice := m[text]; !twice {
			m[text] = value
		}
	}
	return m
}

// serve answers a request on a goroutine of its own.
func (l *Link) serve(e envelope, fault *Error) {
	l.mu.Lock()
	full := l.serving >= l.cfg.MaxRequests
	if full {
		l.refused++
	} else {
		l.serving++
	}
	flood := l.refused > l.cfg.MaxRequests
	l.mu.Unlock()
	switch {
	case flood:
		l.end(errorf(CodeOverloaded, "the peer does not wait for its answers"))
	case full:
		l.run(func() { l.refuse(e) })
	default:
		l.run(func() { l.answer(e, fault) })
	}
}

func (l *Link) refuse(e envelope) {
	fault := errorf(CodeOverloaded, "too many requests are being served")
	fault.Retryable = true
	kind, payload := failed(fault)
	_ = l.write(l.ctx, TextMessage, e.answer(kind, payload).text(l.cfg.Provider.now()))
	l.mu.Lock()
	l.refused--
	l.mu.Unlock()
}

// answer serves a request on the goroutine that its handler may leave by
// runtime.Goexit.
func (l *Link) answer(e envelope, fault *Error) {
	defer func() {
		l.mu.Lock()
		l.serving--
		l.mu.Unlock()
	}()
	ctx, box := withOutbox(l.ctx)
	var text []byte
	defer func() { l.reply(e, text, box.take()) }()
	l.contain("a request", func() { text = l.cfg.Provider.answerTo(ctx, e, fault) })
}

// reply sends the answer to a request, then the files that its tools have announced.
// Without a text the handler did not return.
func (l *Link) reply(e envelope, text []byte, files []*sender) {
	returned := text != nil
	if !returned {
		kind, payload := failed(errorf(CodeExecutionException, "the request ended unexpectedly"))
		text = e.answer(kind, payload).text(l.cfg.Provider.now())
	}
	err := l.write(l.ctx, TextMessage, text)
	for _, s := range files {
		if err == nil && returned {
			err = l.sendFile(s)
		} else {
			l.contain("a file", s.close)
		}
	}
}

// sendFile sends a file and returns why nothing more can be written; what is wrong with
// the file is for the receiver to know.
func (l *Link) sendFile(s *sender) (err error) {
	write := func(ctx context.Context, b []byte) error {
		err = l.write(ctx, BinaryMessage, b)
		return err
	}
	if !l.contain("a file", func() { _ = s.send(l.ctx, write) }) && err == nil {
		err = l.write(l.ctx, BinaryMessage, s.fail("the file cannot be sent"))
	}
	return err
}

// contain runs code of the application, false when it panicked: then what it was for
// has failed, and the panic's text stays in the log.
func (l *Link) contain(what string, f func()) (returned bool) {
	defer func() {
		if v := recover(); v != nil {
			l.cfg.Logger.Error(what+" panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// write writes one message when it is its turn. Ctx bounds the wait for the turn, never
// the write; a failed write ends the link.
func (l *Link) write(ctx context.Context, kind int, data []byte) error {
	select {
	case l.slot <- struct{}{}:
	case <-ctx.Done():
		return contextError(ctx)
	case <-l.ctx.Done():
		return l.closedError()
	}
	defer func() { <-l.slot }()
	if l.ctx.Err() != nil {
		return l.closedError()
	}
	if bounded, ok := l.conn.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = bounded.SetWriteDeadline(time.Now().Add(l.cfg.WriteTimeout))
	}
	if err := l.conn.WriteMessage(kind, data); err != nil {
		l.end(err)
		return l.closedError()
	}
	return nil
}

func (l *Link) closedError() *Error {
	return &Error{Code: CodeClosed, Message: "the connection has ended", cause: context.Cause(l.ctx)}
}

// contextError says why ctx ended.
func contextError(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: CodeTimeout, Message: "the answer did not come in time", cause: ctx.Err()}
	}
	return &Error{Code: CodeCanceled, Message: "the caller gave up", cause: ctx.Err()}
}
