// Package spoke holds the vocabulary of SPOKE connect: the types that travel on
// the wire, the rejects that callers see, and the small interfaces that the other
// packages share. It does no I/O.
//
// A [HostCapabilityManifest] says what a peer is and which tools it offers, each
// as a [ToolDescriptor]. A [Reject] is the one error type of every invoke: branch
// on [CodeOf], read [Reject.Details] for the rest. A [ToolInvoker] is anything that
// can run a tool: a local registry, one session, or a router over many.
//
// Wire types lose nothing on a round trip: members that this library does not know
// stay in the type's Unknown map, and absent stays absent. Every type here is a
// plain value; share one between goroutines only while nobody changes it.
//
// The wire is described in docs/wire.md.
package spoke
