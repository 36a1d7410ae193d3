package draft7

import (
	"regexp/syntax"
)

// Bounds of the patterns in a peer's schema. RE2 matches in linear time, but a short
// pattern can compile to a large program: one \pL is hundreds of ranges, and x{1000}
// a thousand copies.
const (
	maxPatternBytes = 1024  // of one pattern
	maxPatternSize  = 10000 // instructions and ranges of all patterns of a schema
)

// pattern judges one pattern.
func (p *parser) pattern(text string, at *place) error {
	if p.peer && len(text) > maxPatternBytes {
		return at.errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	size, err := patternSize(text)
	if err != nil {
		return at.errorf("the pattern is not RE2: %v", err)
	}
	p.patterns = saturate(p.patterns + size)
	if p.peer && p.patterns > maxPatternSize {
		return at.errorf("the patterns of the schema are too complex")
	}
	return nil
}

// patternSize returns about how many instructions and ranges the pattern compiles to.
func patternSize(text string) (int, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return programSize(re), nil
}

func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size = saturate(size + programSize(sub))
	}
	if re.Op == syntax.OpRepeat {
		size = saturate(size * (max(re.Min, re.Max) + 1))
	}
	return size
}

// limit is where sums stop growing: above every bound here, and small enough that the
// product with a repeat count (at most 1001) fits an int of 32 bits.
const limit = 1 << 20

// saturate keeps sums of hostile numbers from overflowing.
func saturate(n int) int {
	if n < 0 || n > limit {
		return limit
	}
	return n
}
