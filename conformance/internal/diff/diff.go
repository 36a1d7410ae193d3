// Package diff tells where two texts part.
package diff

// First returns the index of the first byte in which two texts differ, their common
// length when one continues the other.
func First(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
