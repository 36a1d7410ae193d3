package bench_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/bench"
)

// counter counts the calls of its tool.
type counter struct{ calls map[string]int }

func (c counter) InvokeTool(_ context.Context, id string, args any) (json.RawMessage, error) {
	c.calls[id+string(args.(json.RawMessage))]++
	return nil, nil
}

func TestInvokersTakeTurns(t *testing.T) {
	at := []bench.Invoker{counter{map[string]int{}}, counter{map[string]int{}}, counter{map[string]int{}}}
	_, err := bench.Run(t.Context(), bench.Load{N: 12, InFlight: 1}, nil, bench.Invoke("tool", json.RawMessage(`{}`), at...))
	require.NoError(t, err)
	for _, c := range at {
		assert.Equal(t, map[string]int{"tool{}": 4}, c.(counter).calls)
	}
}

func TestATextIsAnObjectOfAboutItsSize(t *testing.T) {
	assert.Equal(t, `{"data":"xxxxx"}`, string(bench.Text(5)))
}
