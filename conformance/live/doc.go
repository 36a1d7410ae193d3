// Package live judges a foreign peer over a real connection.
//
// [Run] plays a script: hellos that must be refused, then sessions with honest, forged,
// replayed, reordered, malformed and oversized envelopes, unknown ops and many requests
// at a time. It holds each reaction to a rule of the wire spec and reports per rule
// whether the peer passed, failed, or is lenient where the spec is deliberately stricter
// than the protocol's reference.
//
// The peer under test needs no change: it is configured to accept or to dial this peer's
// key, and it should serve one tool. docs/conformance.md says how to use it.
package live
