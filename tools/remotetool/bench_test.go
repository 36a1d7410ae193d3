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
	for name, probe := range map[string]tools.Probe{"probes": trivialProbe, "no probes": nil} {
		b.Run(name, func(b *testing.B) {
			p := providerOf(b, manyTools(10_000, probe)...)
			known, _ := p.catalogs.of(b.Context(), p.registry)
			payload := raw(`{"ifRevision":%q,"ifAvailabilityRevision":%q}`, known.revision, known.ready)
			b.ReportAllocs()
			for b.Loop() {
				p.Handle(b.Context(), TypeQuery, payload)
			}
		})
	}
}

// BenchmarkOneChanged10000 is a query after one of 10,000 tools was replaced.
func BenchmarkOneChanged10000(b *testing.B) {
	list := manyTools(10_000, nil)
	p := providerOf(b, list...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		require.NoError(b, p.registry.Replace(list[0].With(tools.Metadata{Policy: tools.PolicyRead, Name: fmt.Sprint(i)})))
		p.catalogs.of(b.Context(), p.registry)
	}
}

// BenchmarkAllChanged10000 is the first query of all.
func BenchmarkAllChanged10000(b *testing.B) {
	p := providerOf(b, manyTools(10_000, nil)...)
	for b.Loop() {
		newCatalogs(nil).of(b.Context(), p.registry)
	}
}
