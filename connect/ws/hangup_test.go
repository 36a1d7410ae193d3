package ws_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect/ws"
)

func TestTLSHasAMomentForItsOwnGoodbye(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		transports := make(chan *ws.Transport, 1)
		go func() {
			conn := tls.Server(far, certified.TLS)
			reader := bufio.NewReader(conn)
			request, err := http.ReadRequest(reader)
			if assert.NoError(t, err) {
				transport, err := ws.Upgrade(hijacked{httptest.NewRecorder(), conn, reader}, request, nil)
				assert.NoError(t, err)
				transports <- transport
			}
		}()
		dialer := websocket.Dialer{NetDialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			return tls.Client(near, &tls.Config{InsecureSkipVerify: true}), nil
		}}
		peer, _, err := dialer.Dial("wss://host/", nil)
		require.NoError(t, err)
		peer.SetCloseHandler(func(int, string) error { return nil })
		go func() { _, _, _ = peer.ReadMessage() }() // takes the goodbye of WebSocket and nothing after it
		host, began := <-transports, time.Now()
		require.NoError(t, host.Close())
		assert.Equal(t, time.Second, time.Since(began), "crypto/tls itself has five")
	})
}
