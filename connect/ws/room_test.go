//go:build unix

package ws_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect/ws"
)

func TestThereIsRoomUnlessThePeerDoesNotRead(t *testing.T) {
	read := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		<-read
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
	}))
	defer server.Close()
	transport, err := ws.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	require.NoError(t, err)
	defer transport.Close()
	assert.True(t, transport.HasRoom(100))
	assert.False(t, transport.HasRoom(1<<20), "too long to be sure")

	message := make([]byte, 1000)
	slowest := time.Duration(0)
	sent := 0
	for ; transport.HasRoom(len(message)); sent++ {
		began := time.Now()
		require.NoError(t, transport.Send(t.Context(), message))
		slowest = max(slowest, time.Since(began))
	}
	assert.Greater(t, sent, 10, "the sockets hold some")
	assert.Less(t, slowest, 10*time.Second, "no message waited for the peer to read")
	close(read)
	require.Eventually(t, func() bool { return transport.HasRoom(100) }, 20*time.Second, time.Millisecond)
}
