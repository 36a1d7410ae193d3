// Package ws carries SPOKE connect over WebSocket, one binary message per frame.
//
// [Dial] opens a connection to a host and [Upgrade] takes one over from an HTTP
// server; both return a [connect.Transport] for connect.Dial and connect.Accept. TLS
// protects the bytes on their way, but a peer is trusted for its signatures alone.
//
// Source: wire spec, section 1.
package ws
