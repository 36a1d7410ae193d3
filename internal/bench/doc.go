// Package bench measures calls, beside a floor that is measured in the same run: what
// the signatures of those calls cost alone on the same machine, or something else that
// they cannot be faster than.
//
// A machine's speed drifts, so [Contest] makes the two kinds of calls in turns of short
// slices, and what counts is the ratio.
package bench
