package tools

import (
	"fmt"
	"slices"
	"time"
)

// Metadata is what a tool's author says about it beside its descriptor. Apart from
// Idempotent nothing of it is part of a SPOKE manifest. See [Tool.With].
type Metadata struct {
	// Policy says how much harm the tool can do. "" means critical: a tool that says
	// nothing is run only where everything is allowed. An unknown policy is an error.
	Policy Policy

	// Name is a short name for people. "" means the id.
	Name string
	// Category groups tools. "" means the namespace of the id.
	Category string
	// Keywords help to find the tool.
	Keywords []string
	// Prerequisites are the ids of tools to call before this one.
	Prerequisites []string

	// Idempotent says that calling twice is as good as calling once.
	Idempotent bool

	// Timeout ends the context of the probe and of the handler. A handler that then
	// returns an error was not in time: its caller gets a reject of kind timeout. The
	// handler has to heed its context; nothing ends it by force. Zero means no bound
	// beyond the caller's.
	Timeout time.Duration

	// Concurrency is how many calls of the tool may run at once, over all sessions.
	// More are refused with INTERNAL_ERROR of kind overloaded; they do not wait. Zero
	// means no bound.
	Concurrency int

	// Probe says whether the tool can run now. Nil means always.
	Probe Probe

	// FlattenedStrings hands the handler its arguments as [FlattenStrings] makes them,
	// an object of strings, and leaves out the check of arguments and results against
	// the tool's schemas. It is for tools that parse texts themselves.
	FlattenedStrings bool

	// ExposeErrors lets callers see the text of any error that the handler returns.
	// Otherwise only the text of a [*spoke.Reject] and of a [*Failure] travels.
	ExposeErrors bool
}

// clone returns a copy that shares no slices.
func (m Metadata) clone() Metadata {
	m.Keywords = slices.Clone(m.Keywords)
	m.Prerequisites = slices.Clone(m.Prerequisites)
	return m
}

func (m Metadata) check() error {
	switch {
	case m.Policy.rank() == 0:
		return fmt.Errorf("%q is not a policy", m.Policy)
	case m.Timeout < 0:
		return fmt.Errorf("negative timeout %v", m.Timeout)
	case m.Concurrency < 0:
		return fmt.Errorf("negative concurrency %d", m.Concurrency)
	}
	return nil
}

// setDefaults fills in what the author left out.
func (m *Metadata) setDefaults(id, namespace string) {
	if m.Policy == "" {
		m.Policy = PolicyCritical
	}
	if m.Name == "" {
		m.Name = id
	}
	if m.Category == "" {
		m.Category = namespace
	}
}
