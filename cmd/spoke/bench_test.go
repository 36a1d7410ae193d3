package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBenchMeasuresWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	key, app := keyFile(t)
	url, host := toyHost(t, app)
	profile := profileFile(t, map[string]string{"url": url, "key": key, "peer": string(host.PeerID())})
	for name, c := range map[string]struct {
		args []string
		what string
	}{
		"a profile's URL":                  {nil, url},
		"a pair in spite of a profile":     {[]string{"--pair"}, "pair/ws"},
		"a transport in spite of one":      {[]string{"--transport", "pipe"}, "pair/pipe"},
		"the usual transport in spite too": {[]string{"--transport", "ws"}, "pair/ws"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := spokeCommand(t, append([]string{"bench", "-n", "2", "-c", "1", "--json", "--config", profile}, c.args...)...)
			assert.Zero(t, r.status, "%s", r.stderr)
			assert.Contains(t, r.stdout, `{"name":"`+c.what+`"`)
		})
	}
}
