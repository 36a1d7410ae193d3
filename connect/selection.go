package connect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Candidate is a peer that [Select] may choose. A nil Manifest offers nothing.
type Candidate struct {
	Peer     PeerID
	Manifest *spoke.HostCapabilityManifest
}

// preferredRoles are the roles that make a peer the better choice for an op.
//
// Source: wire spec, section 10.
var preferredRoles = map[string]string{
	"check":    "checker",
	"assemble": "assembler",
	"project":  CapabilityComputable,
	"compute":  CapabilityComputable,
}

// Select chooses the peer that serves op: of the candidates whose manifest has the
// capability that op requires, the payload's namespace and no other scope key than the
// payload's, those with the preferred role if there are any, and of these the one with
// the lowest peer id. For a tool only the capability counts. It depends on nothing but
// its arguments and changes none of them. A nil payload names no namespace.
//
// When nobody fits, the error is a [*spoke.Reject], CAPABILITY_PORT_MISSING of kind
// no_capable_peer. A payload that is not JSON is INVALID_INPUT.
//
// Source: wire spec, section 10.
func Select(op string, payload json.RawMessage, candidates []Candidate) (PeerID, error) {
	want, reject := demandOf(op, payload, nil)
	if reject != nil {
		return "", reject
	}
	chosen, reject := want.eligible(candidates)
	if reject != nil {
		return "", reject
	}
	return candidates[chosen[0]].Peer, nil
}

// eligible returns the indexes of the candidates that are equally good, lowest peer id
// first; at least one.
func (want demand) eligible(candidates []Candidate) ([]int, *spoke.Reject) {
	var fit, preferred []int
	for i, c := range candidates {
		if c.Manifest == nil || !want.metBy(c.Manifest) {
			continue
		}
		fit = append(fit, i)
		if want.role != "" && slices.Contains(c.Manifest.Roles, want.role) {
			preferred = append(preferred, i)
		}
	}
	if len(preferred) > 0 {
		fit = preferred
	}
	if len(fit) == 0 {
		return nil, noCapablePeer(want.op)
	}
	slices.SortStableFunc(fit, func(a, b int) int {
		return strings.Compare(string(candidates[a].Peer), string(candidates[b].Peer))
	})
	return fit, nil
}

// noCapablePeer is what the caller of a router sees when nobody fits.
//
// Source: wire spec, section 9.
func noCapablePeer(op string) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeCapabilityPortMissing, "no peer serves %s", op).
		WithKind(spoke.KindNoCapablePeer).
		WithDetail(spoke.DetailWireCode, spoke.KindNoCapablePeer).
		WithDetail("op", op)
}

// demand is what a request asks of the peer that serves it.
type demand struct {
	op, capability      string
	role                string  // preferred; "" if none is
	namespace, scopeKey *string // nil when the request does not say
}

// demandOf reads what a request asks. Own holds the capabilities of ops that the protocol
// does not know.
func demandOf(op string, payload json.RawMessage, own map[string]string) (demand, *spoke.Reject) {
	capability, known := RequiredCapability(op)
	if !known {
		capability = own[op]
	}
	if capability == "" {
		return demand{}, noCapablePeer(op)
	}
	d := demand{op: op, capability: capability, role: preferredRoles[op]}
	if payload == nil || strings.HasPrefix(op, toolPrefix) {
		return d, nil
	}
	var err error
	if d.namespace, d.scopeKey, err = scopeOf(payload); err != nil {
		return demand{}, spoke.Rejectf(spoke.CodeInvalidInput, "payload: %w", err).WithDetail(spoke.DetailField, "payload")
	}
	return d, nil
}

// metBy is the hard filters.
func (want demand) metBy(m *spoke.HostCapabilityManifest) bool {
	return slices.Contains(m.Capabilities, want.capability) &&
		(want.namespace == nil || slices.Contains(m.Namespaces, *want.namespace)) &&
		(want.scopeKey == nil || m.Authority == nil ||
			m.Authority.ScopeKey == "" || m.Authority.ScopeKey == *want.scopeKey)
}

// scopeOf returns what a payload says at its top, or else in its scope.
func scopeOf(payload []byte) (namespace, scopeKey *string, err error) {
	top, err := objectMembers(payload)
	if err != nil {
		return nil, nil, err
	}
	var scope map[string]jcs.Member
	if member, ok := top["scope"]; ok {
		if scope, err = objectMembers(member.Value); err != nil {
			return nil, nil, err
		}
	}
	return firstText("namespace", top, scope), firstText("scope_key", top, scope), nil
}

// firstText returns the first member called name that is a string.
func firstText(name string, objects ...map[string]jcs.Member) *string {
	for _, object := range objects {
		if text, ok := object[name].Text(); ok {
			return &text
		}
	}
	return nil
}
