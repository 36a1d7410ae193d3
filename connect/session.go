package connect

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Session is the engine of an established session. After the handshake the protocol
// is symmetric, so it has no notion of who dialed: both sides invoke and both serve.
// All methods are safe for concurrent use.
//
// One goroutine at a time reads. It owns the inbound counter and never waits for a
// handler or a write: it passes the lead on before it serves a request. [Session.Wait]
// waits for every goroutine of the session.
type Session struct {
	ep        *endpoint
	transport Transport
	room      RoomChecker // the transport, if it is one; else nil
	backlog   func() bool // whether frames wait to be read; nil if the transport cannot tell
	id        string
	quotedID  []byte // id as it stands in a frame
	local     PeerID
	peer      *remote
	key       ed25519.PublicKey
	openedAt  time.Time
	startedAt time.Time // by our own clock
	initiator bool
	caps      []string
	grants    map[string]bool // caps as a set, nil when they are few
	log       *slog.Logger

	ctx        context.Context // ends with the session
	handlerCtx context.Context // ctx that carries the session and the caller
	cancel     context.CancelCauseFunc
	running    sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	cause   error // why the session ended; nil after our own Close
	waiters waiters
	replies replyQueue

	tools handlerMap

	timers timers

	out     outbound
	inbound uint64 // next sequence from the peer; the reader's alone
	serving serving
	calling atomic.Int64 // invokes of ours that have not returned
	owed    atomic.Int64 // answers that the peer owes us; below 0 it sent too many
	lead    lead
	misses  misses // the reader's alone
	possess possession
	gate    tokenGate // the peer's tokens; the reader's alone
	purse   purse     // our own

	reminder *time.Timer // of later, nil if there is none; mu guards it

	draining atomic.Pointer[error] // why the session ends once it is idle
	leave    func()                // called once by end, under mu; may be nil

	ignored, lateness, denied, failed, panicked, stripped logBrake
}

// newSession returns an engine that does not read yet. Proven says that the peer needs
// no probe.
func newSession(ep *endpoint, t Transport, est *established, proven bool) *Session {
	s := &Session{
		ep:        ep,
		transport: t,
		id:        est.sessionID,
		local:     ep.Identity.PeerID(),
		peer:      est.remote,
		key:       est.remote.key,
		openedAt:  est.openedAt,
		startedAt: time.Now(),
		initiator: est.initiator,
		caps:      est.negotiated,
		grants:    setOf(est.negotiated),
		log:       ep.Logger.With("peer", string(est.remote.peer), "session", est.sessionID),
	}
	est.remote.capabilities = nil
	s.room, _ = t.(RoomChecker)
	if pipe, ok := t.(*pipeEnd); ok {
		s.backlog = pipe.backlog
	}
	s.quotedID, _ = jcs.AppendString(nil, s.id) // it came from JSON or is our own
	s.tools.next = ep.Tools
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	caller := spoke.Caller{PeerID: string(s.peer.peer), SessionID: s.id}
	s.handlerCtx = spoke.WithCaller(context.WithValue(s.ctx, sessionKey{}, s), caller)
	s.out.init(s)
	s.possess.init(proven)
	s.gate.challenge = est.challenge
	return s
}

// start starts the reader.
func (s *Session) start() {
	s.ep.Metrics.SessionOpened()
	s.ep.opened.log(func(dropped int) { s.log.Info("session opened", "unlogged", dropped) })
	s.run(s.read)
}

// fewGrants is up to how many capabilities a list is searched as fast as a map.
const fewGrants = 16

func setOf(list []string) map[string]bool {
	if len(list) <= fewGrants {
		return nil
	}
	set := make(map[string]bool, len(list))
	for _, item := range list {
		set[item] = true
	}
	return set
}

// granted reports whether a capability was negotiated.
func (s *Session) granted(capability string) bool {
	if s.grants == nil {
		return slices.Contains(s.caps, capability)
	}
	return s.grants[capability]
}

// State is where a session is in its life.
type State int

// The states of wire spec, section 9. A [Session] is Established or Closed: [Dial]
// and [Accept] return no other.
const (
	Disconnected State = iota
	Handshaking
	Established
	Closed
)

// String returns the state's name.
func (s State) String() string {
	names := [...]string{"Disconnected", "Handshaking", "Established", "Closed"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return names[s]
}

// State returns Established, or Closed once the session ended.
func (s *Session) State() State {
	if s.ctx.Err() != nil {
		return Closed
	}
	return Established
}

// ID returns the session id, which the responder chose.
func (s *Session) ID() string { return s.id }

// LocalPeerID returns this side's peer id.
func (s *Session) LocalPeerID() PeerID { return s.local }

// RemotePeerID returns the authenticated peer id of the other side.
func (s *Session) RemotePeerID() PeerID { return s.peer.peer }

// OpenedAt returns when the responder opened the session, by its clock.
func (s *Session) OpenedAt() time.Time { return s.openedAt }

// IsInitiator reports whether this side dialed.
func (s *Session) IsInitiator() bool { return s.initiator }

// NegotiatedCapabilities returns the capabilities that both manifests list, in the
// responder's order. It computes them from the two hellos; what the responder claims
// in its session envelope is not used.
//
// Source: wire spec, section 4.
func (s *Session) NegotiatedCapabilities() []string { return slices.Clone(s.caps) }

// RemoteManifest returns the peer's authenticated manifest, as the hello carried it.
// Members of the wrong type count as absent. The caller must not change what its
// slices and maps refer to.
func (s *Session) RemoteManifest() spoke.HostCapabilityManifest { return *s.peer.manifest() }

// RemoteManifestJSON returns the peer's authenticated manifest as canonical JSON, with
// every member that the hello carried. The caller must not change it.
func (s *Session) RemoteManifestJSON() json.RawMessage { return s.peer.host }

// RemoteManifestProblems lists what is wrong with the peer's manifest, nil when
// nothing is.
func (s *Session) RemoteManifestProblems() []manifest.Problem {
	return slices.Clone(s.peer.problems)
}

// RemoteTools lists the tools that the peer's authenticated manifest offers and that
// keep the manifest rule, in declaration order.
//
// Source: wire spec, section 6.
func (s *Session) RemoteTools() []spoke.ToolDescriptor {
	return manifest.ListTools(s.peer.manifest())
}

// RegisterToolHandler makes handler serve this peer's tool. It replaces an earlier
// handler of the same id, and comes before Config.Tools. The manifest does not
// change: a peer can invoke the tool only if both manifests list it. An id outside
// the grammar or a nil handler is an error.
//
// Source: wire spec, section 6.
func (s *Session) RegisterToolHandler(capabilityID string, handler spoke.ToolHandler) error {
	return s.tools.register(capabilityID, handler)
}

// Close ends the session and returns at once; a handler may close its own session.
// Every waiting invoke fails with kind session_closed and handlers see their context
// end. Use [Session.Wait] to wait until all of that has happened.
func (s *Session) Close() error {
	s.end(nil)
	return nil
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Wait waits until the session has ended and none of its goroutines is left, and
// returns why it ended: nil after this side's Close, else an error that matches
// [ErrSessionClosed] and what fits: [io.EOF] when the peer said goodbye, or one of the
// other errors of this package. A handler must not call it on its own session: it would wait for itself.
func (s *Session) Wait() error {
	<-s.ctx.Done()
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// end ends the session once; cause is nil when this side wanted it.
func (s *Session) end(cause error) {
	if cause != nil {
		cause = fmt.Errorf("%w: %w", ErrSessionClosed, cause)
	}
	if s.markEnded(cause) {
		lasted := time.Since(s.startedAt)
		s.ep.Metrics.SessionClosed(causeLabel(cause), lasted)
		s.ep.ended.log(func(dropped int) {
			s.log.Info("session ended", "code", causeLabel(cause), "cause", loggable(cause), "duration", lasted, "unlogged", dropped)
		})
	}
}

func (s *Session) markEnded(cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended, s.cause = true, cause
	s.lead.stop()
	if s.reminder != nil {
		s.reminder.Stop()
	}
	if s.leave != nil {
		s.leave()
	}
	s.running.Go(func() {
		if ours := cause == nil || errors.Is(cause, ErrServerClosed); ours {
			finish(s.transport)
			return
		}
		s.transport.Close()
	})
	s.cancel(cause)
	return true
}

// run starts a goroutine that belongs to the session, false once it has ended.
func (s *Session) run(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.running.Go(f)
	return true
}

// later calls f after d unless the session has ended by then. It is for one call of one f.
func (s *Session) later(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.reminder = time.AfterFunc(d, f)
	}
}

// closedReject is what callers get once the session has ended.
func (s *Session) closedReject() *spoke.Reject {
	s.mu.Lock()
	defer s.mu.Unlock()
	return closedReject(s.cause)
}

type sessionKey struct{}

// SessionFromContext returns the session whose peer invoked the handler that ctx was
// handed to, so that the handler can invoke that very peer.
func SessionFromContext(ctx context.Context) (*Session, bool) {
	s, ok := ctx.Value(sessionKey{}).(*Session)
	return s, ok
}
