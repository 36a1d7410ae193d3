// Package remotetool speaks the Remote Tool Protocol, ansight.tool-catalog.v3, over the
// tools of a [tools.Registry].
//
// A [Provider] answers queries, calls and batches; what carries the messages does not
// matter to it. Three carriers are here:
//
//   - plain frames on a WebSocket: [Open] on anything shaped like a
//     *websocket.Conn of gorilla/websocket;
//   - any other message stream: [OverTransport], or [Provider.HandleMessage] for one
//     text at a time;
//   - a signed SPOKE session: [Ops] as the session's Config.Ops on the serving side,
//     [OverSession] on the calling one.
//
// A [Client] calls such a provider over a [Link] or a session. It keeps the peer's
// catalog and asks only for what has changed. Files travel beside the answers, in
// pieces and in either direction: [StreamFile] in a tool, [Client.Download] where it is
// called.
//
// The protocol is described in docs/remote-tool.md; sections named in this package are
// of that page.
package remotetool
