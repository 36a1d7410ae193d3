package connect

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Router is many peers behind one face: each call goes to the registered peer that
// [Select] chooses, whether this side dialed it or accepted it. Its typed methods are
// those of [Ports], and it implements every port interface of package spoke, so it can
// itself be served as Config.Ports.
//
// A reject of the chosen peer is returned untouched. When nobody fits, the reject is
// CAPABILITY_PORT_MISSING of kind no_capable_peer. A peer takes part while its session is
// established, from one call to the next.
//
// All methods are safe for concurrent use. The zero value is not usable; see
// [NewRouter].
//
// Source: wire spec, section 10.
type Router struct {
	Ports
	cfg RouterConfig

	mu    sync.Mutex
	peers []*routed // in order of registration
	turn  uint64    // counts choices
}

// RouterConfig is what can be chosen about a [Router]. The zero value routes as the
// protocol says; Ops, Spread and Retries go beyond it.
type RouterConfig struct {
	// HostID names the router in its composed manifest. Empty means
	// "multi-peer-router".
	HostID string

	// Ops holds the capability that each of the application's own ops requires of a
	// peer, as [Op] does on the serving side. The protocol routes no op that it does
	// not know. Ops that belong together, such as a call and the fetching of what it
	// announced, find the same peer only while it is registered and nothing is spread.
	Ops map[string]string

	// Spread is how to choose among peers that are equally good. The protocol always
	// takes the lowest peer id.
	Spread Spread

	// Retries is on how many other peers a call may be repeated, one after the other,
	// when the session of the chosen one ended under it. Zero repeats nothing, as the
	// protocol has it. Only tools are repeated, and only between peers whose
	// descriptors both say that the tool is idempotent: the first peer may have run it.
	// Whatever a peer answers is not repeated, nor is a call that took too long.
	Retries int
}

// RouterPeer is a peer that can be registered with a [Router]: a [Session], so a
// [RemoteAdapter] or a [Responder] too, or something that keeps sessions with one peer
// up. Methods are called concurrently and must return at once. A peer that has a Done
// channel, as a Session has, is forgotten once that is closed.
type RouterPeer interface {
	// RemotePeerID returns the peer's id, always the same.
	RemotePeerID() PeerID
	// CurrentSession returns the established session with the peer, nil when there is
	// none at present.
	CurrentSession() *Session
}

// CurrentSession returns s while it is established, else nil; it implements
// [RouterPeer].
func (s *Session) CurrentSession() *Session {
	if s.State() != Established {
		return nil
	}
	return s
}

var (
	_ RouterPeer        = (*Session)(nil)
	_ spoke.ToolInvoker = (*Router)(nil)
	_ Invoker           = (*Router)(nil)
	_ spoke.Ports       = (*Router)(nil)
)

// routed is a registered peer. What changes is guarded by the router.
type routed struct {
	RouterPeer
	id       PeerID
	inFlight int
	chosen   uint64 // the turn at which it was chosen last; 0 for never
}

// gone reports whether the peer is a session that ended, which comes back never.
func (p *routed) gone() bool {
	ends, ok := p.RouterPeer.(interface{ Done() <-chan struct{} })
	if !ok {
		return false
	}
	select {
	case <-ends.Done():
		return true
	default:
		return false
	}
}

// NewRouter returns a router without peers.
func NewRouter(cfg RouterConfig) *Router {
	if cfg.HostID == "" {
		cfg.HostID = "multi-peer-router"
	}
	cfg.Ops = maps.Clone(cfg.Ops)
	r := &Router{cfg: cfg}
	r.Ports = NewPorts(r)
	return r
}

// Register adds a peer, in the place of one with the same id. The sessions stay the
// caller's to close. A session that has ended is forgotten by itself. A nil peer is an
// error.
func (r *Router) Register(peer RouterPeer) error {
	if peer == nil {
		return errors.New("connect: a nil peer cannot be registered")
	}
	added := &routed{RouterPeer: peer, id: peer.RemotePeerID()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	if i := r.index(added.id); i >= 0 {
		r.peers[i] = added
	} else {
		r.peers = append(r.peers, added)
	}
	return nil
}

// Unregister removes a peer and leaves its session alone: calls that are under way end
// as they would. An unknown id changes nothing.
func (r *Router) Unregister(id PeerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.index(id); i >= 0 {
		r.peers = slices.Delete(r.peers, i, i+1)
	}
}

// Peers returns the ids of the registered peers in the order of their registration. A
// peer whose session is down for a while is one of them.
func (r *Router) Peers() []PeerID {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	ids := make([]PeerID, len(r.peers))
	for i, p := range r.peers {
		ids[i] = p.id
	}
	return ids
}

func (r *Router) index(id PeerID) int {
	return slices.IndexFunc(r.peers, func(p *routed) bool { return p.id == id })
}

// forget drops sessions that ended.
func (r *Router) forget() { r.peers = slices.DeleteFunc(r.peers, (*routed).gone) }

// Invoke asks the peer that op and payload select; for the rest it is [Session.Invoke].
//
// Source: wire spec, section 10.
func (r *Router) Invoke(ctx context.Context, op string, payload any) (json.RawMessage, error) {
	if err := checkOp(op); err != nil {
		return nil, err
	}
	raw, err := wirejson.Raw(payload)
	if err != nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "payload: %w", err).WithDetail(spoke.DetailField, "payload")
	}
	return r.route(ctx, op, raw, func(s *Session) (json.RawMessage, error) { return s.Invoke(ctx, op, raw) })
}

// InvokeTool runs a tool of the peer that has it; it implements [spoke.ToolInvoker]. An
// id outside the grammar fails at once with INVALID_INPUT. For the rest it is
// [Session.InvokeTool].
//
// Source: wire spec, section 10.
func (r *Router) InvokeTool(ctx context.Context, capabilityID string, args any) (json.RawMessage, error) {
	if err := checkToolID(capabilityID); err != nil {
		return nil, err
	}
	return r.route(ctx, capabilityID, nil, func(s *Session) (json.RawMessage, error) {
		return s.InvokeTool(ctx, capabilityID, args)
	})
}
