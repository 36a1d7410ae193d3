package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Redialer keeps one session with a peer up: it dials again, with growing and random
// delays, whenever the session has ended. All methods are safe for concurrent use.
//
// Handlers are registered on the Redialer and serve every session from its first
// request on. An invoke whose session ends fails as it does on the session; it may have
// run, so it is not repeated.
type Redialer struct {
	cfg   RedialConfig
	ep    *endpoint
	check HelloCheck
	tools handlerMap

	mu      sync.Mutex
	running bool
	state   State
	session *RemoteAdapter // nil unless Established
	changed chan struct{}  // closed at the next change
	final   error          // why Run returned
}

var _ spoke.ToolInvoker = (*Redialer)(nil)

// NewRedialer checks cfg and returns a redialer that dials once [Redialer.Run] is
// called. Every error is a mistake of the application's.
func NewRedialer(cfg RedialConfig) (*Redialer, error) {
	cfg.setDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Redialer{cfg: cfg, changed: make(chan struct{})}
	r.tools.next = cfg.Tools
	dial := cfg.DialConfig
	dial.Tools = &r.tools
	var err error
	if r.ep, r.check, err = newDialer(dial); err != nil {
		return nil, err
	}
	return r, nil
}

// errRunTwice: a redialer keeps one session.
var errRunTwice = errors.New("connect: Redialer.Run was called twice")

// Run dials and keeps the session up until ctx ends, which ends the session and returns
// nil, or until a later attempt would be in vain, which it returns: a [*HandshakeError]
// of kind protocol_version_mismatch, config, or of a code that says that somebody else
// answers than the peer that was dialed, or one that matches [ErrRefused]. It may be
// called once.
//
// Source: wire spec, sections 4 and 9.
func (r *Redialer) Run(ctx context.Context) error {
	r.mu.Lock()
	twice := r.running
	r.running = true
	r.mu.Unlock()
	if twice {
		return errRunTwice
	}
	err := r.keep(ctx)
	r.enter(Closed, nil, err)
	return err
}

// keep is Run's loop.
func (r *Redialer) keep(ctx context.Context) error {
	delays, refusals := r.cfg.backOff(), 0
	for {
		lasted, err := r.attempt(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if refusals++; !hungUp(err) {
			refusals = 0
		}
		if permanent(err) {
			return err
		}
		if refusals == r.cfg.MaxRefusals {
			return fmt.Errorf("%w: %d times in a row: %w", ErrRefused, refusals, err)
		}
		if lasted >= r.cfg.MaxDelay {
			delays.Reset()
		}
		r.enter(Disconnected, nil, err)
		if !r.sleep(ctx, delays, err) {
			return nil
		}
	}
}

// attempt dials once and returns how long the session lasted and what ended it.
func (r *Redialer) attempt(ctx context.Context) (time.Duration, error) {
	r.enter(Handshaking, nil, nil)
	t, err := r.cfg.Open(ctx)
	if err != nil {
		return 0, err
	}
	adapter, err := dialWith(ctx, t, r.ep, r.check)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	stop := context.AfterFunc(ctx, func() { adapter.Close() })
	defer stop()
	r.enter(Established, adapter, nil)
	err = adapter.Wait()
	return time.Since(began), err
}

// sleep waits before the next attempt, false when ctx ends first.
func (r *Redialer) sleep(ctx context.Context, delays *backoff.ExponentialBackOff, err error) bool {
	delay := delays.NextBackOff()
	r.ep.Logger.Info("will dial again", "peer", string(r.check.Peer), "delay", delay, "error", loggable(err))
	r.cfg.OnDelay(delay)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// enter changes the state and tells everybody.
func (r *Redialer) enter(state State, session *RemoteAdapter, err error) {
	r.mu.Lock()
	r.state, r.session = state, session
	if state == Closed {
		r.final = err
	}
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	r.cfg.OnState(state, err)
}

// State returns Disconnected between attempts, Handshaking during one, Established, or
// Closed after Run has returned.
func (r *Redialer) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Session returns the session that is up, nil when none is.
func (r *Redialer) Session() *RemoteAdapter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session == nil || r.session.State() == Closed {
		return nil
	}
	return r.session
}

// AwaitSession returns the session that is up and waits for the next one if none is. It
// fails with a reject of kind canceled or timeout when ctx ends, and of kind
// session_closed when there will be no other session.
func (r *Redialer) AwaitSession(ctx context.Context) (*RemoteAdapter, error) {
	for {
		session, changed, reject := r.current()
		if session != nil || reject != nil {
			return session, errorOf(reject)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, r.noSession(ctx)
		}
	}
}

// noSession is what the caller gets when its own context ended before there was one.
func (r *Redialer) noSession(ctx context.Context) *spoke.Reject {
	reject := contextReject(ctx, "a session")
	if reject.Kind() == spoke.KindTimeout {
		reject.Message = fmt.Sprintf("no session with %s in time", r.check.Peer)
	}
	return reject
}

// current returns a session that works, or what to wait for, or why that is in vain.
func (r *Redialer) current() (*RemoteAdapter, <-chan struct{}, *spoke.Reject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == Closed {
		return nil, nil, closedReject(r.final)
	}
	if r.session != nil && r.session.State() == Established {
		return r.session, nil, nil
	}
	return nil, r.changed, nil
}

// pick returns the session for an invoke.
func (r *Redialer) pick(ctx context.Context) (*RemoteAdapter, error) {
	if !r.cfg.FailFast {
		return r.AwaitSession(ctx)
	}
	session, _, reject := r.current()
	if session == nil && reject == nil {
		reject = closedReject(nil)
	}
	return session, errorOf(reject)
}

func errorOf(reject *spoke.Reject) error {
	if reject == nil {
		return nil
	}
	return reject
}

// overall bounds the wait for a session as well by a timeout of [WithInvokeTimeout].
func overall(ctx context.Context) (context.Context, context.CancelFunc) {
	if timeout, ok := ctx.Value(timeoutKey{}).(time.Duration); ok && timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}

// Invoke is [Session.Invoke] on the session that is up, or on the next one. A timeout of
// [WithInvokeTimeout] counts from the call, that of the configuration from the session on.
func (r *Redialer) Invoke(ctx context.Context, op string, payload any) (json.RawMessage, error) {
	ctx, cancel := overall(ctx)
	defer cancel()
	session, err := r.pick(ctx)
	if err != nil {
		return nil, err
	}
	return session.Invoke(ctx, op, payload)
}

// InvokeTool is [Session.InvokeTool] on the session that is up, or on the next one; its
// time is as for [Redialer.Invoke].
func (r *Redialer) InvokeTool(ctx context.Context, capabilityID string, args any) (json.RawMessage, error) {
	ctx, cancel := overall(ctx)
	defer cancel()
	if err := checkToolID(capabilityID); err != nil {
		return nil, err
	}
	session, err := r.pick(ctx)
	if err != nil {
		return nil, err
	}
	return session.InvokeTool(ctx, capabilityID, args)
}

// RegisterToolHandler makes handler serve this peer's tool in the session that is up
// and in all that follow; for the rest it is [Session.RegisterToolHandler].
func (r *Redialer) RegisterToolHandler(capabilityID string, handler spoke.ToolHandler) error {
	return r.tools.register(capabilityID, handler)
}

var _ RouterPeer = (*Redialer)(nil)

// RemotePeerID returns the id of the peer that is dialed.
func (r *Redialer) RemotePeerID() PeerID { return r.check.Peer }

// CurrentSession returns the session that is up, nil when none is; it implements
// [RouterPeer].
func (r *Redialer) CurrentSession() *Session {
	if adapter := r.Session(); adapter != nil {
		return adapter.CurrentSession()
	}
	return nil
}
