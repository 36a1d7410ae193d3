package ws

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// writeBuffers are shared by all connections: an idle one holds none.
var writeBuffers sync.Pool

// UpgradeOptions adjust [Upgrade]. The zero value is right for most.
type UpgradeOptions struct {
	// CheckOrigin decides on the Origin of a browser's request. Nil admits requests
	// without one and those of the same host; a browser has no key, but it has its
	// user's network position.
	CheckOrigin func(*http.Request) bool
	// HandshakeTimeout bounds the writing of the upgrade's answer. Zero means 10s.
	HandshakeTimeout time.Duration
	// PingInterval is as in [DialOptions].
	PingInterval time.Duration
}

// Upgrade turns an HTTP request into a WebSocket connection. When it fails it has
// answered the request.
func Upgrade(w http.ResponseWriter, r *http.Request, options *UpgradeOptions) (*Transport, error) {
	if options == nil {
		options = &UpgradeOptions{}
	}
	upgrader := websocket.Upgrader{
		CheckOrigin:      options.CheckOrigin,
		HandshakeTimeout: options.HandshakeTimeout,
		ReadBufferSize:   readBufferSize,
		WriteBufferSize:  writeBufferSize,
		WriteBufferPool:  &writeBuffers,
	}
	if upgrader.HandshakeTimeout == 0 {
		upgrader.HandshakeTimeout = 10 * time.Second
	}
	conn, err := upgrader.Upgrade(batchedWriter{w}, r, nil)
	if err != nil {
		return nil, fmt.Errorf("ws: upgrade: %w", err)
	}
	return newTransport(conn, options.PingInterval), nil
}
