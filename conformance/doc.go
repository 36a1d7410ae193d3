// Package conformance runs test vectors against this library.
//
// The vectors are JSON files, embedded in package vectors and usable from any language;
// docs/conformance.md describes their format. [Run] replays a set of files and returns a
// [Report]. A vector is used both ways where that has a meaning: what others signed is
// verified, and the same input is signed again and must match byte for byte. Rules that
// are about behaviour, such as the order of sequences, are played out in a session over
// an in-memory transport with a peer at its other end that is driven by hand.
//
// Package conformance/live judges a foreign peer over a real connection, and package
// conformance/transcript records and verifies sessions.
package conformance
