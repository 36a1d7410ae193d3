package connect

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
)

// endpoint is a checked [Config]: what all sessions of one side have in common. It is
// read-only but for the roster.
type endpoint struct {
	Config
	host    json.RawMessage // the manifest, canonical; what a session is to use of it
	caps    []string        // the manifest's
	roster  *roster
	schemas map[string]*manifest.ToolSchemas
	ops     map[string]Op
	opened  *lineWindow // of the log, shared by all sessions
	ended   *lineWindow
	tokens  tokenTerms
}

// newEndpoint checks cfg. Every error is a mistake of the application's.
func newEndpoint(cfg Config, keys map[PeerID]ed25519.PublicKey) (*endpoint, error) {
	cfg.setDefaults()
	ep := &endpoint{
		Config: cfg, roster: new(roster),
		opened: &lineWindow{most: sessionLines}, ended: &lineWindow{most: sessionLines},
	}
	if cfg.Identity == nil || cfg.Identity.private == nil {
		return nil, fmt.Errorf("config: no Identity")
	}
	if ep.Nonces == nil {
		ep.Nonces = &cfg.Identity.met.nonces
	}
	checkPeers := func() error { return ep.roster.replace(ep.Allow, keys) }
	for _, step := range []func() error{ep.check, checkPeers, ep.checkIssuers, ep.checkManifest, ep.checkOps} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	return ep, nil
}

// with returns the endpoint for one peer: what options leave nil stays as it is.
func (ep *endpoint) with(options PeerOptions) (*endpoint, error) {
	if options.Tools == nil && options.Ops == nil && options.Ports == nil {
		return ep, nil
	}
	own := *ep
	if options.Tools != nil {
		own.Tools = options.Tools
	}
	if options.Ops != nil {
		own.Ops = options.Ops
	}
	if options.Ports != nil {
		own.Ports = options.Ports
	}
	return &own, own.checkOps()
}

// helloOverhead is room for what a hello or session holds beside the manifest: two
// nonces of any characters, ids and the signature.
const helloOverhead = 3 << 10

func (ep *endpoint) checkManifest() error {
	raw, err := json.Marshal(ep.Manifest)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if ep.host, err = jcs.CanonicalExact(raw, ep.Limits.Depth-1); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if most := ep.Limits.HandshakeFrameBytes - helloOverhead; len(ep.host) > most {
		return fmt.Errorf("manifest: %d bytes, at most %d fit a hello", len(ep.host), most)
	}
	ep.host = slices.Clip(ep.host)
	own, err := ep.Identity.met.manifests.ours(ep.host)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	ep.caps = own.capabilities
	if !ep.SkipValidation {
		ep.schemas = own.schemas
	}
	ep.Manifest = spoke.HostCapabilityManifest{} // its slices are the caller's
	return nil
}

func (ep *endpoint) checkOps() error {
	ep.ops = make(map[string]Op, len(ep.Ops))
	for _, op := range ep.Ops {
		if err := op.check(); err != nil {
			return err
		}
		if _, twice := ep.ops[op.Name]; twice {
			return fmt.Errorf("op %q is registered twice", op.Name)
		}
		ep.ops[op.Name] = op
	}
	return nil
}

// negotiate returns the capabilities that both manifests list, in the responder's
// order.
//
// Source: wire spec, section 4.
func negotiate(initiator, responder []string) []string {
	return slices.Clip(manifest.Negotiate(initiator, responder))
}
