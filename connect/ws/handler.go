package ws

import (
	"net/http"

	"github.com/spoke-peer/spoke-go/connect"
)

// Handler returns an http.Handler that upgrades each request and accepts a session for
// server. Nil options are the defaults.
//
// It returns when the handshake is over: the session goes on in goroutines of its own
// and holds neither the HTTP server's goroutine nor its buffers. So http.Server.Shutdown
// and Close do not end sessions; connect.Server.Shutdown does. While the server is full
// or closed, requests are answered 503 before the upgrade.
//
// The time that a client takes for its HTTP request is the http.Server's to bound: set
// ReadHeaderTimeout.
func Handler(server *connect.Server, options *UpgradeOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if server.Ready() != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "not accepting connections now", http.StatusServiceUnavailable)
			return
		}
		transport, err := Upgrade(w, r, options)
		if err != nil {
			return // the request has its answer
		}
		_, _ = server.Accept(r.Context(), transport) // the server logs and counts it
	})
}
