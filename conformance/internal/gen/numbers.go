package main

// double is the text of one IEEE 754 double, given by its bits.
type double struct {
	Bits string `json:"bits_hex"`
	Text string `json:"text"`
}

// number is a number as a document spells it: its canonical text, or its refusal, and
// whether a sender may send it as it is spelled.
type number struct {
	Name  string `json:"name"`
	Input string `json:"input"`
	Text  string `json:"text,omitempty"`
	Exact bool   `json:"exact"`
	Error bool   `json:"error,omitempty"`
}

// numbers holds the table of RFC 8785, appendix B, and spellings.
func numbers() file {
	return file{
		group: "numbers", rule: "wire spec, section 3",
		about: "the ES6 text of doubles; exact tells whether a sender may send the number as it is spelled",
		lists: []list{
			listOf("doubles", []double{
				{"0000000000000000", "0"},
				{"8000000000000000", "0"},
				{"0000000000000001", "5e-324"},
				{"8000000000000001", "-5e-324"},
				{"7fefffffffffffff", "1.7976931348623157e+308"},
				{"ffefffffffffffff", "-1.7976931348623157e+308"},
				{"4340000000000000", "9007199254740992"},
				{"c340000000000000", "-9007199254740992"},
				{"4430000000000000", "295147905179352830000"},
				{"44b52d02c7e14af5", "9.999999999999997e+22"},
				{"44b52d02c7e14af6", "1e+23"},
				{"44b52d02c7e14af7", "1.0000000000000001e+23"},
				{"444b1ae4d6e2ef4e", "999999999999999700000"},
				{"444b1ae4d6e2ef4f", "999999999999999900000"},
				{"444b1ae4d6e2ef50", "1e+21"},
				{"3eb0c6f7a0b5ed8c", "9.999999999999997e-7"},
				{"3eb0c6f7a0b5ed8d", "0.000001"},
				{"41b3de4355555553", "333333333.3333332"},
				{"41b3de4355555554", "333333333.33333325"},
				{"41b3de4355555555", "333333333.3333333"},
				{"41b3de4355555556", "333333333.3333334"},
				{"41b3de4355555557", "333333333.33333343"},
				{"becbf647612f3696", "-0.0000033333333333333333"},
				{"43143ff3c1cb0959", "1424953923781206.2"},
				{"3ff0000000000000", "1"},
				{"3ff0000000000001", "1.0000000000000002"},
				{"3fefffffffffffff", "0.9999999999999999"},
				{"0010000000000000", "2.2250738585072014e-308"},
				{"000fffffffffffff", "2.225073858507201e-308"},
			}),
			listOf("texts", []number{
				{Name: "zero", Input: "0", Text: "0", Exact: true},
				{Name: "minus zero", Input: "-0", Text: "0", Exact: true},
				{Name: "minus zero with a fraction", Input: "-0.00", Text: "0", Exact: true},
				{Name: "zero with an exponent", Input: "0e999", Text: "0", Exact: true},
				{Name: "a fraction of zero", Input: "1.0", Text: "1", Exact: true},
				{Name: "a trailing zero", Input: "0.10", Text: "0.1", Exact: true},
				{Name: "an exponent of zero", Input: "1E0", Text: "1", Exact: true},
				{Name: "an exponent with a plus", Input: "1E+2", Text: "100", Exact: true},
				{Name: "a negative exponent that leaves an integer", Input: "10.0e-1", Text: "1", Exact: true},
				{Name: "a large integer spelled out", Input: "100000000000000000000", Text: "100000000000000000000", Exact: true},
				{Name: "the first that needs an exponent", Input: "1000000000000000000000", Text: "1e+21", Exact: true},
				{Name: "1e23, whose double prints the same", Input: "1e23", Text: "1e+23", Exact: true},
				{Name: "the smallest without an exponent", Input: "1e-6", Text: "0.000001", Exact: true},
				{Name: "the first small one with an exponent", Input: "0.0000001", Text: "1e-7", Exact: true},
				{Name: "2^53-1", Input: "9007199254740991", Text: "9007199254740991", Exact: true},
				{Name: "2^53", Input: "9007199254740992", Text: "9007199254740992", Exact: true},
				{Name: "2^53+1 becomes its neighbour", Input: "9007199254740993", Text: "9007199254740992"},
				{Name: "2^60, whose text is another number", Input: "1152921504606846976", Text: "1152921504606847000"},
				{Name: "more digits than a double has", Input: "0.1000000000000000055511151231257827", Text: "0.1"},
				{Name: "1.1 with noise behind it", Input: "1.10000000000000001", Text: "1.1"},
				{Name: "a number that becomes zero", Input: "1e-400", Text: "0"},
				{Name: "half of the smallest double", Input: "2.4703282292062327e-324", Text: "0"},
				{Name: "the smallest double", Input: "5e-324", Text: "5e-324", Exact: true},
				{Name: "the largest double", Input: "1.7976931348623157e308", Text: "1.7976931348623157e+308", Exact: true},
				{Name: "a number above the largest double that rounds down", Input: "1.7976931348623158e308", Text: "1.7976931348623157e+308"},
				{Name: "a number that rounds to infinity", Input: "1.7976931348623159e308", Error: true},
				{Name: "1e400", Input: "1e400", Error: true},
				{Name: "-1e309", Input: "-1e309", Error: true},
				{Name: "a leading zero", Input: "01", Error: true},
				{Name: "a plus sign", Input: "+1", Error: true},
				{Name: "no digit before the point", Input: ".5", Error: true},
				{Name: "no digit behind the point", Input: "1.", Error: true},
				{Name: "no digit in the exponent", Input: "1e", Error: true},
				{Name: "hexadecimal", Input: "0x10", Error: true},
				{Name: "NaN", Input: "NaN", Error: true},
				{Name: "Infinity", Input: "Infinity", Error: true},
			}),
		},
	}
}
