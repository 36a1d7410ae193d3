package remotetool

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestAClientWorksThroughARouter(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	p := providerOf(t, jsonEcho(), sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: bytes.NewReader(content), Size: int64(len(content))}
	}))
	_, host := session(t, p, Capability)
	router := connect.NewRouter(connect.RouterConfig{Ops: RouterOps()})
	require.NoError(t, router.Register(host))
	client := NewClient(OverSession(router, 0), ClientConfig{})

	list, err := client.Tools(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 2)
	got, err := client.Call(t.Context(), Call{ID: "json.echo", Arguments: map[string]int{"n": 1}})
	require.NoError(t, err)
	assert.Contains(t, string(got.Result), `"n":1`)
	var sink bytes.Buffer
	_, _, err = client.Download(t.Context(), Call{ID: "t.file"}, &sink, nil)
	require.NoError(t, err)
	assert.Equal(t, content, sink.Bytes())

	router.Unregister(host.RemotePeerID())
	_, err = client.Call(t.Context(), Call{ID: "json.echo"})
	assert.Error(t, err)
}

func TestRouterOpsAreTheOpsThatAreServed(t *testing.T) {
	served := map[string]string{}
	for _, op := range Ops(providerOf(t, jsonEcho())) {
		served[op.Name] = op.Capability
	}
	assert.Equal(t, served, RouterOps())
}
