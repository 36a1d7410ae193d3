//go:build !race

package ws_test

// stride is how far apart the offsets of a fault are.
const stride = 1
