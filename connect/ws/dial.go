package ws

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	neturl "net/url"
	"time"

	"github.com/gorilla/websocket"

	"github.com/spoke-peer/spoke-go/connect"
)

// Sizes of a connection's own read buffer and of the pooled write buffers; larger
// messages pass through them in pieces.
const (
	readBufferSize  = 1 << 10
	writeBufferSize = 4 << 10
)

// DialOptions adjust [Dial]. The zero value is right for most.
type DialOptions struct {
	// Header is sent with the HTTP upgrade request, such as for a gateway.
	Header http.Header
	// TLS configures wss:// connections; nil means the defaults.
	TLS *tls.Config
	// HandshakeTimeout bounds connection, TLS and upgrade. Zero means 10s.
	HandshakeTimeout time.Duration
	// PingInterval is how often the peer is pinged. When nothing at all comes from it
	// for two intervals, not even an answer to a ping or the end of a message, the
	// connection has ended with [connect.ErrPeerSilent]. Zero means 30s, negative
	// neither pings nor watches.
	PingInterval time.Duration
}

// Dial opens a WebSocket connection to url, which begins with ws:// or wss://. Ctx and
// the options bound the opening only. An error matches [connect.ErrTryLater] when the
// server answers 503 instead.
func Dial(ctx context.Context, url string, options *DialOptions) (*Transport, error) {
	if options == nil {
		options = &DialOptions{}
	}
	dialer := websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		HandshakeTimeout: options.HandshakeTimeout,
		TLSClientConfig:  options.TLS,
		ReadBufferSize:   readBufferSize,
		WriteBufferSize:  writeBufferSize,
		WriteBufferPool:  &writeBuffers,
	}
	if dialer.HandshakeTimeout == 0 {
		dialer.HandshakeTimeout = 10 * time.Second
	}
	conn, response, err := dialContext(ctx, &dialer, url, options.Header)
	if err != nil {
		return nil, dialError(url, response, err)
	}
	return newTransport(conn, options.PingInterval), nil
}

// dialContext is the dialer's DialContext, which asks ctx only for its deadline once it
// is connected: here the end of ctx also ends the wait for the server's answer.
func dialContext(ctx context.Context, dialer *websocket.Dialer, url string, header http.Header) (*websocket.Conn, *http.Response, error) {
	stop := func() bool { return true }
	dialer.NetDialContext = func(bounded context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(bounded, network, address)
		if err != nil {
			return nil, err
		}
		stop = context.AfterFunc(ctx, func() { conn.Close() })
		return newBatchConn(conn), nil
	}
	conn, response, err := dialer.DialContext(ctx, url, header)
	switch alive := stop(); {
	case err == nil && !alive:
		conn.Close()
		return nil, nil, ctx.Err()
	case err != nil && ctx.Err() != nil:
		return nil, response, fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return conn, response, err
}

// dialError adds what the server answered instead of an upgrade.
func dialError(url string, response *http.Response, err error) error {
	if u, parseErr := neturl.Parse(url); parseErr == nil && u.User != nil {
		url = u.Redacted()
	}
	if response != nil && response.StatusCode == http.StatusServiceUnavailable {
		err = fmt.Errorf("%w: %w", connect.ErrTryLater, err)
	}
	if response != nil {
		return fmt.Errorf("ws: dial %s: the server answered %s: %w", url, response.Status, err)
	}
	return fmt.Errorf("ws: dial %s: %w", url, err)
}
