// Package manifest holds the rules about capability manifests and the tools in them:
// the grammar of tool ids, what a manifest must be, which capabilities two peers
// share, and whether a tool's arguments and result fit its schemas.
//
// A peer's manifest is read with [Decode], which takes what is usable and lists the
// rest as problems. One's own is held to everything at once with [Validate]. [FindTool]
// and [ListTools] are discovery: they see only tools that keep the rules. A tool about
// to be served or called gets its schemas compiled once with [CompileTool].
//
// Schemas and values from a peer are hostile input. Nothing here does I/O, follows a
// $ref out of its schema, recurses without bound or works longer than a few seconds on
// one value, whatever it is given. [Trust] says how much a schema may do.
//
// Functions are safe for concurrent use and keep no state; compiled schemas do not
// change. Failures that travel are [*spoke.Reject] values.
//
// Source: wire spec, sections 4, 6 and 9.
package manifest
