// Package connect is SPOKE connect: it holds signed sessions between two peers over
// any message transport.
//
// [Dial] is for a program that offers tools to a host, [Accept] for a host that such
// programs dial. Both return an established [Session] or an error; after that the two
// sides are alike. [Session.InvokeTool] runs a tool of the peer's,
// [Session.RegisterToolHandler] serves one of ours, and inside a handler
// [SessionFromContext] gives the session to call back on. Every failure of an invoke is
// a [github.com/spoke-peer/spoke-go/spoke.Reject].
//
// A host of many peers has a [Server], whose allowlist may change while it runs, and an
// app that has to come back a [Redialer].
//
// A host serves what it knows through ports, Config.Ports; a [RemoteAdapter] drives them
// with typed methods, those of [Ports]. A [Router] puts many sessions behind one face:
// each call goes to the peer whose manifest fits it.
//
// # Keys and trust
//
// A peer is its Ed25519 key. [LoadIdentity] reads ours from a key file; a [PeerID] is
// the name of a key and contains it, so an allowlist of peer ids says whose keys are
// trusted, and an empty one trusts nobody. Every envelope is signed over its canonical
// JSON. What was verified is what a handler gets: canonical bytes.
//
// A [Token] narrows what a peer may use to what an issuer granted it, until it expires.
// [IssueToken] makes one, DialConfig.Token presents it, and ResponderConfig can insist on
// one.
//
// # Frames and goroutines
//
// A [Transport] moves frames: [Pipe] in memory, package connect/ws over WebSocket. One
// goroutine of a session at a time reads and never waits; to run a handler it makes
// another the reader, so handlers run side by side, bounded by [Limits]. [Session.Close] ends a session and returns at once,
// [Session.Wait] waits until nothing of it runs any more.
//
// The wire is described in docs/wire.md.
package connect
