package tools

import "github.com/spoke-peer/spoke-go/spoke"

// Policy says how much harm a tool can do, or how much a caller may. The three
// policies are ordered: read, write, critical. Any other value, "" included, permits
// nothing where it bounds a caller, and is refused where a tool states it.
//
// Source: remote tool spec, section 8.
type Policy string

// The policies, from the least.
const (
	PolicyRead     Policy = "read"
	PolicyWrite    Policy = "write"
	PolicyCritical Policy = "critical"
)

// ParsePolicy returns the policy of that exact name. The error is a [*spoke.Reject] of
// code INVALID_INPUT.
func ParsePolicy(name string) (Policy, error) {
	if p := Policy(name); p.rank() > 0 {
		return p, nil
	}
	return "", spoke.Rejectf(spoke.CodeInvalidInput, "%q is not a policy (read, write or critical)", name).
		WithDetail(spoke.DetailField, "policy")
}

// Permits reports whether a bound of p admits a tool of policy other.
func (p Policy) Permits(other Policy) bool { return other.rank() > 0 && other.rank() <= p.rank() }

// rank is 0 for a policy that is none.
func (p Policy) rank() int {
	switch p {
	case PolicyRead:
		return 1
	case PolicyWrite:
		return 2
	case PolicyCritical:
		return 3
	}
	return 0
}

// lower returns the lesser of two bounds.
func (p Policy) lower(other Policy) Policy {
	if other.rank() < p.rank() {
		return other
	}
	return p
}

// Guard says what a registry lets anybody do. The zero Guard is [Disabled].
//
// A tool whose policy is above MaxPolicy is neither listed nor run. Without Discovery
// nothing is listed, without Execution nothing is run.
//
// Source: remote tool spec, section 8.
type Guard struct {
	Discovery bool
	Execution bool
	MaxPolicy Policy
}

// Disabled lists and runs nothing.
func Disabled() Guard { return Guard{} }

// ReadOnly lists and runs tools of policy read.
func ReadOnly() Guard { return Guard{true, true, PolicyRead} }

// ReadWrite lists and runs tools of policy read and write.
func ReadWrite() Guard { return Guard{true, true, PolicyWrite} }

// FullAccess lists and runs every tool.
func FullAccess() Guard { return Guard{true, true, PolicyCritical} }
