package remotetool

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/tools"
)

func trivialProbe(context.Context) tools.Availability { return tools.Available() }

// BenchmarkUnchanged10000 is a conditional query to which nothing has changed.
func BenchmarkUnchanged10000(b *testing.B) {
	b.Run("probes", func(b *testing.B) { loop(b, unchanged(b, manyProvided(b, trivialProbe))) })
	b.Run("no probes", func(b *testing.B) { loop(b, unchanged(b, manyProvided(b, nil))) })
}

// BenchmarkOneChanged10000 is the catalog after one of 10,000 tools was replaced.
func BenchmarkOneChanged10000(b *testing.B) { loop(b, oneChanged(b, manyProvided(b, nil))) }

// BenchmarkAllChanged10000 is the first catalog of all.
func BenchmarkAllChanged10000(b *testing.B) { loop(b, allChanged(b, manyProvided(b, nil))) }

func loop(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

// manyProvided is a provider of 10,000 tools.
func manyProvided(tb testing.TB, probe tools.Probe) *Provider {
	return providerOf(tb, manyTools(10_000, probe)...)
}

// unchanged returns what answers a query of somebody who knows all.
func unchanged(tb testing.TB, p *Provider) func() {
	known, _ := p.catalogs.of(tb.Context(), p.registry)
	payload := raw(`{"ifRevision":%q,"ifAvailabilityRevision":%q}`, known.revision, known.ready)
	return func() { p.Handle(tb.Context(), TypeQuery, payload) }
}

// oneChanged returns what replaces a tool and makes the catalog.
func oneChanged(tb testing.TB, p *Provider) func() {
	p.catalogs.of(tb.Context(), p.registry)
	one, n := manyTools(1, nil)[0], 0
	return func() {
		n++
		require.NoError(tb, p.registry.Replace(one.With(tools.Metadata{Policy: tools.PolicyRead, Name: fmt.Sprint(n)})))
		p.catalogs.of(tb.Context(), p.registry)
	}
}

// allChanged returns what makes the catalog from nothing.
func allChanged(tb testing.TB, p *Provider) func() {
	return func() { newCatalogs(nil).of(tb.Context(), p.registry) }
}
