package draft7

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// gojsonschema computes with exact fractions. The further a decimal exponent is from 0,
// the more digits the fraction has; nothing else about a double makes it dear. What is
// far dearer than computing is to write a bound below 1 into the text of an error: that
// takes the square of its digits. Costs in steps, measured.
const (
	boundTextWork = 30  // to write any bound
	slowWork      = 150 // to read a number that strconv needs exact arithmetic for
)

// magnitude returns how far the decimal exponent of a canonical number is from 0.
func magnitude(n json.Number) int {
	_, text, ok := strings.Cut(string(n), "e")
	if !ok {
		return 0
	}
	exponent, _ := strconv.Atoi(text)
	return max(exponent, -exponent)
}

// fractionWork is what reading a number as a fraction takes.
func fractionWork(magnitude int) int { return 2 + magnitude/32 }

// slow reports whether n is so small that its double may lack a full mantissa.
func slow(n json.Number) bool {
	return strings.Contains(string(n), "e-") && magnitude(n) >= 308
}

// doubleWork is what reading a number as a double takes.
func doubleWork(n json.Number) int {
	if slow(n) {
		return slowWork
	}
	return 1
}

// rewriteWork is what writing v and reading it anew takes.
func rewriteWork(v any) int { return textSize(v) + slowWork*countSlow(v) }

// countSlow returns how many numbers in v are slow.
func countSlow(v any) int {
	n := 0
	switch v := v.(type) {
	case json.Number:
		if slow(v) {
			return 1
		}
	case []any:
		for _, item := range v {
			n += countSlow(item)
		}
	case map[string]any:
		for _, member := range v {
			n += countSlow(member)
		}
	}
	return n
}

// bound is one assertion about a number.
type bound struct {
	keyword   string
	value     float64
	magnitude int
	text      int // steps to write it into an error
}

func newBound(w word) bound {
	n := w.value.(json.Number)
	value, _ := n.Float64()
	return bound{w.name, value, magnitude(n), textWork(n)}
}

// textWork is what writing a bound takes.
func textWork(n json.Number) int {
	fraction, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return maxWork
	}
	num, denom := fraction.Num().BitLen(), fraction.Denom().BitLen()
	return boundTextWork + num/16 + denom/4 + denom*denom/512
}

// work is what holding a number to the bound takes, apart from the error.
func (b bound) work(magnitude int) int {
	if b.keyword == "multipleOf" {
		return 3 + (magnitude+b.magnitude)/16
	}
	return 1 + (magnitude+b.magnitude)/128
}

// broken reports whether x is outside the bound. A multiple is not computed and counts
// as broken.
func (b bound) broken(x float64) bool {
	switch b.keyword {
	case "maximum":
		return x > b.value
	case "exclusiveMaximum":
		return x >= b.value
	case "minimum":
		return x < b.value
	case "exclusiveMinimum":
		return x <= b.value
	}
	return true
}
