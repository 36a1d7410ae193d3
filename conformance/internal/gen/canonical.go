package main

import "fmt"

// canonicalCase is one text and its canonical form, or its refusal.
type canonicalCase struct {
	Name  string `json:"name"`
	Input string `json:"input_hex"`
	JCS   string `json:"jcs_hex,omitempty"`
	Error bool   `json:"error,omitempty"`
}

// becomes is a case whose input has a canonical form.
func becomes(name, input, canonical string) canonicalCase {
	return canonicalCase{Name: name, Input: hexOf(input), JCS: hexOf(canonical)}
}

// refused is a case whose input is not strict JSON.
func refused(name, input string) canonicalCase {
	return canonicalCase{Name: name, Input: hexOf(input), Error: true}
}

func keyOrder() file {
	return file{
		group: "key_order", rule: "wire spec, section 3",
		about: "members are sorted by the UTF-16 code units of their names, at every level",
		lists: []list{listOf("cases", []canonicalCase{
			becomes("the example of RFC 8785",
				`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
				"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"),
			becomes("a surrogate pair comes before U+E000", `{"\ue000":1,"\ud800\udc00":2}`, "{\"\U00010000\":2,\"\ue000\":1}"),
			becomes("the last code point comes before U+FFFD", `{"\ufffd":1,"\udbff\udfff":2}`, "{\"\U0010ffff\":2,\"\ufffd\":1}"),
			becomes("U+D7FF comes before a surrogate pair", `{"\ud800\udc00":1,"\ud7ff":2}`, "{\"\ud7ff\":2,\"\U00010000\":1}"),
			becomes("two pairs that share their first unit", `{"\ud83d\ude01":1,"\ud83d\ude00":2}`, `{"😀":2,"😁":1}`),
			becomes("a common beginning before an astral difference", `{"x\uffee":1,"x\ud83d\ude00":2,"x":3}`, "{\"x\":3,\"x😀\":2,\"x\uffee\":1}"),
			becomes("the empty name is first", `{"a":1,"":2," ":3}`, `{"":2," ":3,"a":1}`),
			becomes("a name comes before its continuations", `{"ab":1,"a":2,"aa":3,"b":4}`, `{"a":2,"aa":3,"ab":1,"b":4}`),
			becomes("digits are text, not numbers", `{"10":1,"9":2,"2":3,"1":4}`, `{"1":4,"10":1,"2":3,"9":2}`),
			becomes("upper case comes before lower case", `{"b":1,"A":2,"a":3,"B":4,"_":5}`, `{"A":2,"B":4,"_":5,"a":3,"b":1}`),
			becomes("every level is sorted, lists keep their order", `{"b":[{"d":1,"c":2},3,1],"a":{"z":{"y":1,"x":2}}}`, `{"a":{"z":{"x":2,"y":1}},"b":[{"c":2,"d":1},3,1]}`),
			becomes("names are compared without their escapes", `{"\u0062":1,"a":2,"\u0043":3}`, `{"C":3,"a":2,"b":1}`),
			becomes("a quote sorts by itself, not by its escape", `{"#":1,"\"":2,"!":3}`, `{"!":3,"\"":2,"#":1}`),
			becomes("a control sorts by itself, not by its escape", `{" ":1,"\u001f":2,"\n":3,"\u0000":4}`, `{"\u0000":4,"\n":3,"\u001f":2," ":1}`),
			becomes("a backslash sorts by itself", `{"]":1,"\\":2,"[":3}`, `{"[":3,"\\":2,"]":1}`),
			becomes("text is not normalized", `{"\u00e9":1,"e\u0301":2,"f":3}`, "{\"e\u0301\":2,\"f\":3,\"é\":1}"),
			becomes("one, two, three and four bytes of UTF-8", `{"\ud800\udc00":4,"\u0800":3,"\u0080":2,"\u007f":1}`, "{\"\u007f\":1,\"\u0080\":2,\"\u0800\":3,\"\U00010000\":4}"),
			becomes("names that objects of a language know", `{"toString":1,"__proto__":2,"constructor":3,"length":4}`, `{"__proto__":2,"constructor":3,"length":4,"toString":1}`),
			refused("the same name twice", `{"a":1,"a":1}`),
			refused("the same name twice, once escaped", `{"a":1,"\u0061":2}`),
			refused("the same astral name twice, once escaped", `{"😀":1,"\ud83d\ude00":2}`),
			refused("the same name twice, deep inside", `[{"a":{"b":1,"c":2,"b":3}}]`),
		})},
	}
}

func escapes() file {
	cases := []canonicalCase{
		becomes("a solidus needs no escape", `["\/","/"]`, `["/","/"]`),
		becomes("a quote and a backslash are escaped", `["\u0022","\u005c","\"","\\"]`, `["\"","\\","\"","\\"]`),
		becomes("DEL is not a control", `["\u007f"]`, "[\"\u007f\"]"),
		becomes("C1 controls are not escaped", `["\u0080\u0085\u009f"]`, "[\"\u0080\u0085\u009f\"]"),
		becomes("line and paragraph separators are not escaped", `["\u2028\u2029"]`, "[\"\u2028\u2029\"]"),
		becomes("what HTML would escape is not escaped", `["\u003c\u003e\u0026\u0027"]`, `["<>&'"]`),
		becomes("letters are not escaped", `["\u0041\u00e9\u4e2d"]`, `["Aé中"]`),
		becomes("hex digits of either case are read", `["\u00E9\u00e9\uABCD\uabcd"]`, "[\"éé\uabcd\uabcd\"]"),
		becomes("a surrogate pair becomes one character", `["\ud83d\ude00"]`, `["😀"]`),
		becomes("a byte order mark inside text is kept", `["\ufeff"]`, "[\"\ufeff\"]"),
		becomes("noncharacters are kept", `["\uffff\ufffe\ufdd0"]`, "[\"\uffff\ufffe\ufdd0\"]"),
		becomes("a replacement character is kept", `["\ufffd"]`, "[\"\ufffd\"]"),
		becomes("names are escaped as values are", `{"\u000b\/\u0009":1}`, `{"\u000b/\t":1}`),
		becomes("white space between tokens goes", " \t\r\n{ \"a\" : [ 1 , 2 ] } \n", `{"a":[1,2]}`),
		becomes("a text by itself is a document", `"\u0061"`, `"a"`),
		refused("a lone high surrogate", `["\ud83d"]`),
		refused("a lone low surrogate", `["\ude00"]`),
		refused("a pair in the wrong order", `["\ude00\ud83d"]`),
		refused("two high surrogates", `["\ud83d\ud83d"]`),
		refused("a high surrogate before another escape", `["\ud83d\n"]`),
		refused("a lone surrogate in a name", `{"\udc00":1}`),
		refused("a raw control in text", "[\"a\nb\"]"),
		refused("an escape that JSON does not have", `["\x41"]`),
		refused("a short escape", `["\u12"]`),
		refused("a byte that UTF-8 does not have", "[\"\xff\"]"),
		refused("an overlong encoding", "[\"\xc0\x80\"]"),
		refused("an encoded surrogate", "[\"\xed\xa0\x80\"]"),
		refused("a code point above U+10FFFF", "[\"\xf4\x90\x80\x80\"]"),
		refused("a sequence that ends early", "[\"\xe2\x82\"]"),
		refused("a byte order mark before the document", "\ufeff[]"),
	}
	return file{
		group: "escapes", rule: "wire spec, sections 1 and 3",
		about: "which escapes canonical text has, and which text is refused",
		lists: []list{listOf("cases", append(controls(), cases...))},
	}
}

// controls is a case for each control character: a short escape where there is one,
// else four lower-case hex digits.
func controls() []canonicalCase {
	short := map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}
	var cases []canonicalCase
	for c := rune(0); c < 0x20; c++ {
		canonical, ok := short[c]
		if !ok {
			canonical = fmt.Sprintf(`\u%04x`, c)
		}
		cases = append(cases, becomes(fmt.Sprintf("control U+%04X", c), fmt.Sprintf(`["\u%04X"]`, c), `["`+canonical+`"]`))
	}
	return cases
}
