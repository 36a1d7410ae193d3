package jcs

import (
	"bytes"
	"math"
	"strconv"
)

// smallestNormal is the smallest positive double with a full mantissa.
const smallestNormal = 0x1p-1022

// fastDigits is how many digits of a number strconv reads without exact arithmetic.
const fastDigits = 19

// numberRoom holds the canonical text of every double.
type numberRoom [32]byte

// canonicalNumber writes the ES6 text of the double nearest to text into room, not ok
// when that is not finite. Slow says that reading it may have needed exact arithmetic.
func canonicalNumber(room *numberRoom, text []byte) (canonical []byte, slow, ok bool) {
	f, err := strconv.ParseFloat(string(text), 64)
	digits := countDigits(text) // none is zero
	slow = digits > fastDigits || digits > 0 && math.Abs(f) < smallestNormal
	if err != nil || math.IsInf(f, 0) {
		return nil, slow, false
	}
	return appendES6(room[:0], f), slow, true
}

// countDigits counts the digits of a number's mantissa from its first to its last one
// that is not zero. So the canonical text of a number never has more than the number.
func countDigits(text []byte) int {
	n, last := 0, 0
	for _, c := range text {
		switch {
		case c == 'e' || c == 'E':
			return last
		case c == '0' && n == 0, c == '-', c == '.':
		default:
			if n++; c != '0' {
				last = n
			}
		}
	}
	return last
}

// appendES6 appends a finite double as ES6 writes it.
func appendES6(buf []byte, f float64) []byte {
	if f == 0 {
		return append(buf, '0')
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(buf, f, 'f', -1, 64)
	}
	buf = strconv.AppendFloat(buf, f, 'e', -1, 64)
	// Go writes at least two exponent digits, ES6 no leading zero.
	if n := len(buf); n >= 4 && buf[n-2] == '0' && (buf[n-3] == '-' || buf[n-3] == '+') {
		buf[n-2] = buf[n-1]
		buf = buf[:n-1]
	}
	return buf
}

// exactNumber reports whether a double carries text exactly as written.
func exactNumber(text []byte) bool {
	var room numberRoom
	canonical, _, ok := canonicalNumber(&room, text)
	return ok && sameDecimal(text, canonical)
}

// sameDecimal reports whether two number texts have the same decimal value.
func sameDecimal(a, b []byte) bool {
	x, y := parseDecimal(a), parseDecimal(b)
	if len(x.digits) == 0 && len(y.digits) == 0 {
		return true // zero, whatever its sign and exponent
	}
	return x.negative == y.negative && x.exponent == y.exponent && bytes.Equal(x.digits, y.digits)
}

// decimal is 0.digits × 10^exponent, without zeros at either end of digits.
type decimal struct {
	negative bool
	digits   []byte
	exponent int64
}

func parseDecimal(text []byte) decimal {
	var d decimal
	mantissa, exponent := text, int64(0)
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], parseExponent(text[i+1:])
	}
	if mantissa[0] == '-' {
		d.negative, mantissa = true, mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	d.digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	d.exponent = exponent + int64(len(whole))
	stripped := bytes.TrimLeft(d.digits, "0")
	d.exponent -= int64(len(d.digits) - len(stripped))
	d.digits = bytes.TrimRight(stripped, "0")
	return d
}

// maxExponent is far beyond any double and small enough to add lengths to.
const maxExponent = int64(1) << 40

// parseExponent reads an exponent, saturating at maxExponent.
func parseExponent(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n > maxExponent || n < -maxExponent {
		if text[0] == '-' {
			return -maxExponent
		}
		return maxExponent
	}
	return n
}
