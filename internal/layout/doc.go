// Package layout holds the tests of how the module is laid out: which package may
// import which, what a library user pulls in, and what library code never does. It has
// no code of its own.
package layout
