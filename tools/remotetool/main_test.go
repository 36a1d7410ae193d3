package remotetool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func raw(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}

// tool returns a tool of raw JSON. Schemas are draft-07, "" for any.
func tool(id, input, output string, handle spoke.ToolHandler, meta tools.Metadata) *tools.Tool {
	if meta.Policy == "" {
		meta.Policy = tools.PolicyRead
	}
	d := spoke.ToolDescriptor{CapabilityID: id, Description: "For tests."}
	if input != "" {
		d.Input = json.RawMessage(input)
	}
	if output != "" {
		d.Output = json.RawMessage(output)
	}
	return tools.Raw(d, handle).With(meta)
}

func echoing(_ context.Context, args json.RawMessage) (any, error) { return args, nil }

func registryOf(t testing.TB, guard tools.Guard, list ...*tools.Tool) *tools.Registry {
	t.Helper()
	r := tools.NewRegistry(tools.Config{Guard: guard})
	require.NoError(t, r.Register(list...))
	return r
}

func providerOf(t testing.TB, list ...*tools.Tool) *Provider {
	t.Helper()
	return NewProvider(registryOf(t, tools.FullAccess(), list...), ProviderConfig{})
}

// answerOf runs a request that is answered with the type, and returns the payload.
func answerOf(t testing.TB, p *Provider, requestType, answerType, payload string) members {
	t.Helper()
	kind, got := p.Handle(t.Context(), requestType, json.RawMessage(payload))
	require.Equal(t, answerType, kind, "%s", got)
	m, err := membersOf(got)
	require.NoError(t, err, "%s", got)
	return m
}

func keysOf(m members) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }

func text(m members, name string) string { s, _ := textOf(m[name]); return s }

// toolsOf lists the ids of a catalog's tools.
func toolsOf(t testing.TB, m members) string {
	t.Helper()
	var list []struct{ ID string }
	require.NoError(t, json.Unmarshal(m["tools"], &list))
	ids := []string{}
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

func assertCode(t testing.TB, code Code, err error) {
	t.Helper()
	assert.Equal(t, code, CodeOf(err), "%v", err)
}
