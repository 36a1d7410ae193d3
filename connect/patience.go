package connect

import (
	"context"
	"time"

	"github.com/spoke-peer/spoke-go/spoke"
)

// patience is how long one invoke may take: the caller's context and the invoke
// timeout.
type patience struct {
	ctx      context.Context
	op       string
	auth     []byte    // the token that the request carries, if any; canonical
	deadline time.Time // zero when there is no timeout
	expired  <-chan time.Time
	timer    *time.Timer
}

func (s *Session) newPatience(ctx context.Context, op string) patience {
	timeout := s.ep.InvokeTimeout
	if own, ok := ctx.Value(timeoutKey{}).(time.Duration); ok {
		timeout = own
	}
	return s.patienceOf(ctx, op, timeout)
}

// ownTimeout bounds what the session does by itself.
func (s *Session) ownTimeout() time.Duration {
	if s.ep.InvokeTimeout < 0 {
		return defaultInvokeTimeout
	}
	return s.ep.InvokeTimeout
}

func (s *Session) patienceOf(ctx context.Context, op string, timeout time.Duration) patience {
	p := patience{ctx: ctx, op: op}
	if timeout > 0 {
		p.deadline = time.Now().Add(timeout)
		p.timer = s.timers.start(timeout)
		p.expired = p.timer.C
	}
	return p
}

// endPatience gives the timer back; the patience is not used any more.
func (s *Session) endPatience(p *patience) {
	if p.timer != nil {
		s.timers.stop(p.timer)
	}
}

// over reports whether the patience has ended.
func (p *patience) over() bool {
	return p.ctx.Err() != nil || !p.deadline.IsZero() && !time.Now().Before(p.deadline)
}

// gaveUp is what the caller sees when a wait ended without what it waited for. The end
// of the session comes first: a handler's context ends with it.
func (s *Session) gaveUp(p *patience) *spoke.Reject {
	switch {
	case s.ctx.Err() != nil:
		return s.closedReject()
	case p.ctx.Err() != nil:
		return contextReject(p.ctx, p.op)
	default:
		return timeoutReject(p.op)
	}
}

type timeoutKey struct{}

// WithInvokeTimeout returns a context under which an invoke's timeout is timeout
// instead of Config.InvokeTimeout; negative means no bound beyond ctx, and zero means
// the default of 5s. A deadline of ctx itself counts as well; whichever is first
// fails the invoke with kind timeout.
func WithInvokeTimeout(ctx context.Context, timeout time.Duration) context.Context {
	defaultTo(&timeout, defaultInvokeTimeout)
	return context.WithValue(ctx, timeoutKey{}, timeout)
}
