package otelmetrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/otelmetrics"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const echoTool = "tools.test.echo"

func identityOf(n byte) *connect.Identity {
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{n}, 32))
	if err != nil {
		panic(err)
	}
	return id
}

var appID, hostID = identityOf(1), identityOf(2)

func config(id, peer *connect.Identity) connect.Config {
	return connect.Config{
		Identity: id, Allow: []connect.PeerID{peer.PeerID()},
		Manifest: spoke.HostCapabilityManifest{
			SchemaVersion: 1, HostID: "label", Roles: []string{"input-source"},
			Capabilities: []string{connect.CapabilityBaseline, echoTool}, Namespaces: []string{"test"},
		},
		Tools: spoke.ToolHandlers{echoTool: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }},
	}
}

// meter returns a meter and what reads it.
func meter() (metric.Meter, *sdk.ManualReader) {
	reader := sdk.NewManualReader()
	return sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), reader
}

// collect returns every series as "name{attributes}" and its value: a sum, or how many
// durations a histogram holds.
func collect(t testing.TB, reader *sdk.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	series := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					series[seriesName(m.Name, point.Attributes)] = point.Value
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					series[seriesName(m.Name, point.Attributes)] = int64(point.Count)
				}
			}
		}
	}
	return series
}

func seriesName(name string, attributes attribute.Set) string {
	return name + "{" + attributes.Encoded(attribute.DefaultEncoder()) + "}"
}

func TestASessionIsCounted(t *testing.T) {
	m, reader := meter()
	metrics, err := otelmetrics.New(m)
	require.NoError(t, err)
	host := config(hostID, appID)
	host.Metrics = metrics
	server, err := connect.NewServer(connect.ServerConfig{ResponderConfig: connect.ResponderConfig{Config: host}})
	require.NoError(t, err)
	near, far := connect.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(t.Context(), far) }()
	app, err := connect.Dial(t.Context(), near, connect.DialConfig{Config: config(appID, hostID), Remote: hostID.PeerID()})
	require.NoError(t, err)

	for range 3 {
		_, err = app.InvokeTool(t.Context(), echoTool, nil)
		require.NoError(t, err)
	}
	_, err = app.InvokeTool(t.Context(), "tools.test.made-up", nil)
	require.Error(t, err)
	_, err = server.SessionsOf(appID.PeerID())[0].InvokeTool(t.Context(), echoTool, nil)
	require.NoError(t, err)
	during := collect(t, reader)
	assert.EqualValues(t, 1, during["spoke.connect.sessions.active{}"])

	app.Close()
	app.Wait()
	assert.ErrorIs(t, <-served, connect.ErrSessionClosed)
	strangerNear, strangerFar := connect.Pipe()
	go strangerNear.Send(t.Context(), []byte(`{"peer_id":"stranger"}`))
	require.Error(t, server.Serve(t.Context(), strangerFar))

	assert.Equal(t, map[string]int64{
		"spoke.connect.handshakes.refused{code=peer_not_allowed}":     1,
		"spoke.connect.sessions.active{}":                             0,
		"spoke.connect.session.duration{cause=peer_left}":             1,
		"spoke.connect.served.duration{code=ok,op=tools.test.echo}":   3,
		"spoke.connect.served.duration{code=op_unsupported,op=other}": 1,
		"spoke.connect.invoked.duration{code=ok,op=tools.test.echo}":  1,
		"spoke.connect.replies.queued{}":                              0,
	}, collect(t, reader))
}

// refusingMeter cannot make one instrument.
type refusingMeter struct {
	metric.Meter
	name string
}

func (m refusingMeter) Float64Histogram(name string, options ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if name == m.name {
		return nil, fmt.Errorf("no %s", name)
	}
	return m.Meter.Float64Histogram(name, options...)
}

func TestAMeterThatRefusesAnInstrumentIsAnError(t *testing.T) {
	metrics, err := otelmetrics.New(refusingMeter{noop.Meter{}, otelmetrics.ServedDuration})
	assert.EqualError(t, err, "no spoke.connect.served.duration")
	assert.Nil(t, metrics)
}

func ExampleNew() {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader)) // a program has its own
	metrics, err := otelmetrics.New(provider.Meter("github.com/spoke-peer/spoke-go"))
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := config(hostID, appID)
	cfg.Metrics = metrics
	server, err := connect.NewServer(connect.ServerConfig{ResponderConfig: connect.ResponderConfig{Config: cfg}})
	if err != nil {
		fmt.Println(err)
		return
	}
	near, far := connect.Pipe()
	near.Close()
	server.Serve(context.Background(), far)

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
	}
	var names []string
	for _, m := range all.ScopeMetrics[0].Metrics {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	fmt.Println(names)
	// Output: [spoke.connect.handshakes.refused]
}
