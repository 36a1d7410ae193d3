// Package tools is for writing tools and for calling them.
//
// [New] makes a tool of a Go function and infers the schemas of its arguments and its
// result; [Raw] takes a descriptor and raw JSON. A [Registry] holds tools, writes them
// into the manifest and serves them to any number of sessions:
//
//	registry := tools.NewRegistry(tools.Config{Guard: tools.ReadOnly()})
//	err := registry.Register(tools.New("tools.dice.roll", "Roll dice.", roll).
//		With(tools.Metadata{Policy: tools.PolicyRead}))
//	cfg := connect.Config{Manifest: registry.Describe(base), Tools: registry}
//
// What a tool may do is a [Policy], what a registry allows is a [Guard], and both are
// looked at when tools are listed and again when one is called. Nothing is allowed that
// nobody allowed: the zero guard runs nothing, and a tool without a policy is critical.
//
// On the calling side, [Call] runs a tool with Go values, [Batch] runs several, and
// [Discover] reads what a peer offers and can check arguments before they are sent. All
// of them work on any [spoke.ToolInvoker]: a registry, a session, a router.
//
// A registry checks arguments and results itself, against schemas that were compiled
// when the tool was made. A session over it may set Config.SkipValidation, unless the
// session shall also hold a tool that was replaced to the schemas it negotiated.
//
// Tools are described in docs/wire.md, section 6.
package tools
