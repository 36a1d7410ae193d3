package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Availability is whether a tool can run now, and if not, why and what would help. The
// zero value is unavailable without a reason.
//
// Source: remote tool spec, section 4.
type Availability struct {
	Available bool `json:"available"`
	// Code names the cause for programs.
	Code string `json:"code,omitempty"`
	// Reason tells people the cause.
	Reason string `json:"reason,omitempty"`
	// RequiredState is what has to be the case first.
	RequiredState string `json:"requiredState,omitempty"`
	// Remediation is what the caller can do about it.
	Remediation string `json:"remediation,omitempty"`
	// Retryable says that trying again later can help.
	Retryable bool `json:"retryable,omitempty"`
}

// Available returns the state of a tool that can run.
func Available() Availability { return Availability{Available: true} }

// Unavailable returns the state of a tool that cannot run.
func Unavailable(code, reason string) Availability { return Availability{Code: code, Reason: reason} }

// Probe asks whether a tool can run now. It is called at each listing that shows states
// and again just before each execution, concurrently, and should be quick. A probe that
// panics says that the tool cannot run.
type Probe func(ctx context.Context) Availability

// ask runs the probe; nil is always available.
func (p Probe) ask(ctx context.Context) (state Availability) {
	if p == nil {
		return Available()
	}
	defer func() {
		if v := recover(); v != nil {
			state = Unavailable("", "the availability probe failed")
		}
	}()
	return p(ctx)
}

// reject is what a caller of the tool gets, nil when the tool is available.
func (a Availability) reject(id string) *spoke.Reject {
	if a.Available {
		return nil
	}
	r := spoke.Rejectf(spoke.CodeInternalError, "%s", a.message(id)).
		WithKind(KindUnavailable).WithDetail(detailCapabilityID, id).WithDetail("available", false)
	for _, member := range a.texts() {
		if *member.text != "" {
			r = r.WithDetail(member.name, *member.text)
		}
	}
	if a.Retryable {
		r = r.WithDetail(detailRetryable, true)
	}
	return r
}

// AvailabilityOf returns the state of the tool that err says is unavailable, from this
// process or from a peer's answer; false for any other error.
func AvailabilityOf(err error) (Availability, bool) {
	r, ok := errors.AsType[*spoke.Reject](err)
	if !ok || r == nil || r.Kind() != KindUnavailable {
		return Availability{}, false
	}
	var a Availability
	for _, member := range a.texts() {
		*member.text, _ = r.Details[member.name].(string)
	}
	a.Retryable, _ = r.Details[detailRetryable].(bool)
	return a, true
}

// textMember is a text of an availability by its name in details.
type textMember struct {
	name string
	text *string
}

func (a *Availability) texts() []textMember {
	return []textMember{
		{"code", &a.Code}, {"reason", &a.Reason}, {"requiredState", &a.RequiredState}, {"remediation", &a.Remediation},
	}
}

func (a Availability) message(id string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s is not available: %s", id, a.Reason), ": ")
}
