package live

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// rule is one thing that the wire spec says about a peer.
type rule struct {
	// name is a sentence about the peer under test.
	name string
	// section is where the wire spec says so.
	section int
	// stricter rules are marked so in the spec: a peer that does otherwise is lenient.
	stricter bool
	// check plays the rule: nil when the peer does as the spec says.
	check func(ctx context.Context, s *script) error
}

// Verdict is how a peer stands to one rule.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Lenient Verdict = "lenient"
	NotRun  Verdict = "not run"
)

// accepted is the error of a check that saw the peer accept what it should refuse.
type accepted struct{ what string }

func (e *accepted) Error() string { return e.what }

func acceptedf(format string, args ...any) error { return &accepted{fmt.Sprintf(format, args...)} }

// skipped is the error of a check that could not judge the peer.
type skipped struct {
	why    string
	missed bool // for lack of a connection or of time, not because of what the peer is
}

func (e *skipped) Error() string { return e.why }

var errEnded = &skipped{"the run ended before", true}

// verdictOf turns what a check returned into a verdict.
func (r rule) verdictOf(err error) (Verdict, string) {
	if err == nil {
		return Pass, ""
	}
	if _, ok := errors.AsType[*skipped](err); ok {
		return NotRun, err.Error()
	}
	if _, ok := errors.AsType[*accepted](err); ok && r.stricter {
		return Lenient, err.Error()
	}
	return Fail, err.Error()
}

// judge plays one rule. A shared session that did not survive it is not used again.
func (s *script) judge(ctx context.Context, r rule) Result {
	started := time.Now()
	result := Result{Rule: r.name, Section: r.section, Stricter: r.stricter}
	err := error(errEnded)
	if ctx.Err() == nil {
		err = r.check(ctx, s)
	}
	if ctx.Err() != nil && err != nil {
		err = errEnded
	}
	result.Verdict, result.Detail = r.verdictOf(err)
	if skip, ok := errors.AsType[*skipped](err); ok {
		result.Missed = skip.missed
	}
	result.Milliseconds = float64(time.Since(started).Microseconds()) / 1000
	if err != nil {
		s.discard()
	}
	return result
}
