// Package otelmetrics counts what happens to SPOKE connect sessions with OpenTelemetry.
//
// [New] returns a connect.Metrics for connect.Config. It is a package of its own so that
// programs without OpenTelemetry do not depend on it.
package otelmetrics

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spoke-peer/spoke-go/connect"
)

// Names of the instruments. Durations are in seconds. The attributes are op and code of
// served and invoked requests, cause of sessions that ended, and code of handshakes that
// were refused; [connect.Metrics] says which values they take.
const (
	HandshakesRefused = "spoke.connect.handshakes.refused"
	SessionsActive    = "spoke.connect.sessions.active"
	SessionDuration   = "spoke.connect.session.duration"
	ServedDuration    = "spoke.connect.served.duration"
	InvokedDuration   = "spoke.connect.invoked.duration"
	RepliesQueued     = "spoke.connect.replies.queued"
)

// seconds are bucket bounds from a fast handler on a LAN to the default timeouts.
var seconds = metric.WithExplicitBucketBoundaries(
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

// lifetimes are bucket bounds from a crash loop to a month.
var lifetimes = metric.WithExplicitBucketBoundaries(1, 10, 60, 600, 3600, 6*3600, 86400, 7*86400, 30*86400)

// instruments implements connect.Metrics.
type instruments struct {
	refused  metric.Int64Counter
	active   metric.Int64UpDownCounter
	lasted   metric.Float64Histogram
	served   metric.Float64Histogram
	invoked  metric.Float64Histogram
	awaiting metric.Int64UpDownCounter
}

// New creates the instruments on meter. The error is the meter's; the result is nil
// then.
func New(meter metric.Meter) (connect.Metrics, error) {
	var m instruments
	err := errors.Join(
		keep(&m.refused)(meter.Int64Counter(HandshakesRefused, metric.WithUnit("{handshake}"),
			metric.WithDescription("Handshakes that failed, by the check that failed."))),
		keep(&m.active)(meter.Int64UpDownCounter(SessionsActive, metric.WithUnit("{session}"),
			metric.WithDescription("Established sessions."))),
		keep(&m.lasted)(meter.Float64Histogram(SessionDuration, metric.WithUnit("s"), lifetimes,
			metric.WithDescription("How long sessions lasted, by why they ended."))),
		keep(&m.served)(meter.Float64Histogram(ServedDuration, metric.WithUnit("s"), seconds,
			metric.WithDescription("Requests of peers that were answered."))),
		keep(&m.invoked)(meter.Float64Histogram(InvokedDuration, metric.WithUnit("s"), seconds,
			metric.WithDescription("Invokes of this side, until they returned."))),
		keep(&m.awaiting)(meter.Int64UpDownCounter(RepliesQueued, metric.WithUnit("{reply}"),
			metric.WithDescription("Replies that wait to be written."))),
	)
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// keep stores what a constructor of the meter returned.
func keep[T any](target *T) func(T, error) error {
	return func(made T, err error) error {
		*target = made
		return err
	}
}

// The sessions that are counted have no context of their own to hand on.
var background = context.Background()

// HandshakeRefused implements [connect.Metrics].
func (m *instruments) HandshakeRefused(code string) {
	m.refused.Add(background, 1, labels("code", code))
}

// SessionOpened implements [connect.Metrics].
func (m *instruments) SessionOpened() { m.active.Add(background, 1) }

// SessionClosed implements [connect.Metrics].
func (m *instruments) SessionClosed(cause string, lasted time.Duration) {
	m.active.Add(background, -1)
	m.lasted.Record(background, lasted.Seconds(), labels("cause", cause))
}

// Served implements [connect.Metrics].
func (m *instruments) Served(op, code string, took time.Duration) {
	m.served.Record(background, took.Seconds(), labels("op", op, "code", code))
}

// Invoked implements [connect.Metrics].
func (m *instruments) Invoked(op, code string, took time.Duration) {
	m.invoked.Record(background, took.Seconds(), labels("op", op, "code", code))
}

// RepliesQueued implements [connect.Metrics].
func (m *instruments) RepliesQueued(change int) { m.awaiting.Add(background, int64(change)) }

// labels returns names and values as attributes.
func labels(pairs ...string) metric.MeasurementOption {
	attributes := make([]attribute.KeyValue, 0, 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		attributes = append(attributes, attribute.String(pairs[i], pairs[i+1]))
	}
	return metric.WithAttributeSet(attribute.NewSet(attributes...))
}
