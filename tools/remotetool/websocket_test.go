package remotetool

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var _ Conn = (*websocket.Conn)(nil)

// listening serves the provider on a loopback port and returns its url.
func listening(t *testing.T, p *Provider) string {
	t.Helper()
	ended := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if assert.NoError(t, err) {
			link, err := Open(conn, LinkConfig{Provider: p, MaxMessageBytes: 1 << 16})
			assert.NoError(t, err)
			link.Wait()
		}
		ended <- struct{}{}
	}))
	t.Cleanup(func() {
		<-ended
		server.Close()
	})
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func dialed(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	require.NoError(t, err)
	return conn
}

func TestAnswersAreTextFramesAndFilesBinaryOnesAfterThem(t *testing.T) {
	conn := dialed(t, listening(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: strings.NewReader("abcde"), Size: 5}
	}))))
	defer conn.Close()
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"tool.call","id":"1","payload":{"toolId":"t.file"}}`)))
	var kinds []int
	var sizes []int
	for range 3 {
		kind, data, err := conn.ReadMessage()
		require.NoError(t, err)
		kinds, sizes = append(kinds, kind), append(sizes, len(data))
	}
	assert.Equal(t, []int{websocket.TextMessage, websocket.BinaryMessage, websocket.BinaryMessage}, kinds)
	assert.Equal(t, []int{frameHeader + 5, frameHeader}, sizes[1:])
}

func TestAClientWorksOverAWebSocketAndSaysGoodbye(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1<<20)
	link := opened(t, dialed(t, listening(t, providerOf(t, jsonEcho(), sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: bytes.NewReader(content), Size: 1 << 20}
	})))), LinkConfig{})
	client := NewClient(link, ClientConfig{})
	_, err := client.Call(t.Context(), Call{ID: "json.echo"})
	require.NoError(t, err)
	var sink bytes.Buffer
	_, _, err = client.Download(t.Context(), Call{ID: "t.file"}, &sink, nil)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(content, sink.Bytes()))
	link.Close()
	assert.NoError(t, link.Wait())
}

func TestAMessageOverTheLimitEndsAWebSocket(t *testing.T) {
	conn := dialed(t, listening(t, providerOf(t, jsonEcho())))
	defer conn.Close()
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte(" "), 1<<16+1)))
	_, _, err := conn.ReadMessage()
	assert.True(t, websocket.IsCloseError(err, websocket.CloseMessageTooBig), "%v", err)
}
