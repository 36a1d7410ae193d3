// Package spoke holds the vocabulary of SPOKE connect: the types that travel on
// the wire, the rejects that callers see, and the small interfaces that the other
// packages share. It does no I/O.
//
// A [HostCapabilityManifest] says what a peer is and which tools it offers, each
// as a [ToolDescriptor]. A [Reject] is the one error type of every invoke: branch
// on [CodeOf], read [Reject.Details] for the rest. A [ToolInvoker] is anything that
// can run a tool: a local registry, one session, or a router over many.
//
// What a host knows travels through ports as [KnowledgeEntry], [Relation],
// [TimelineEvent], [Finding] and [Rule] values; a [Scope] selects among them. The port
// interfaces, [KnowledgePort] and its like, are what a provider implements as far as it
// goes. Decoding one of these types refuses text in which a required member is missing
// or a member has the wrong type, and the error names the member.
//
// Wire types lose nothing on a round trip: members that this library does not know
// stay in the type's Unknown map, and absent stays absent. Every type here is a
// plain value; share one between goroutines only while nobody changes it.
//
// The wire is described in docs/wire.md.
package spoke
