//go:build race

package ws_test

// stride is how far apart the offsets of a fault are: the race detector makes a session
// ten times as slow, and looks at interleavings, not at offsets.
const stride = 13
