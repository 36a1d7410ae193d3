// Package draft7 runs JSON Schema draft-07 over gojsonschema without giving a schema
// or a value any way to do I/O, to end the process or to keep it busy.
//
// A schema is read into a tree of nodes by this package, and every keyword is judged
// there. What gojsonschema gets is a fresh document written from that tree: keywords
// of draft-07 that assert something, of the right type, with every $ref rewritten to
// a definition of the same document. It never sees $id, $schema, an unknown keyword
// or a number that is no double, so the code of it that opens files and URLs, or that
// dereferences nil on such input, is out of reach.
//
// Before a value is validated, [gauge] walks it as gojsonschema would and adds up what
// that would cost in time and in error text. Above the budget the value is refused.
//
// Source: wire spec, section 6.
package draft7
