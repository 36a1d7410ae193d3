package jcs

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

type vector struct {
	InputHex string `json:"input_hex"`
	JCSHex   string `json:"jcs_hex"`
	Error    bool   `json:"error"`
}

func (v vector) input(t testing.TB) []byte {
	b, err := hex.DecodeString(v.InputHex)
	require.NoError(t, err)
	return b
}

func loadVectors(t testing.TB) []vector {
	var file struct{ Cases []vector }
	require.NoError(t, vectors.Load("jcs.json", &file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

func TestCanonicalMatchesTheVectors(t *testing.T) {
	for _, v := range loadVectors(t) {
		in := v.input(t)
		got, err := Canonical(in)
		if v.Error {
			assert.Error(t, err, "%q", in)
			continue
		}
		if assert.NoError(t, err, "%q", in) {
			assert.Equal(t, v.JCSHex, hex.EncodeToString(got), "%q", in)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	cases := map[string]struct {
		in   string
		want error
	}{
		"a duplicate name":                      {`{"a":1,"a":2}`, nil},
		"a duplicate name behind an escape":     {`{"a":1,"\u0061":2}`, nil},
		"a duplicate name deep inside":          {`[[{"x":{"a":1,"a":2}}]]`, nil},
		"a lone high surrogate":                 {`"\ud800"`, nil},
		"a lone low surrogate":                  {`"\udc00"`, nil},
		"a lone surrogate in a name":            {`{"\ud800":1}`, nil},
		"invalid UTF-8":                         {"\"\xff\"", nil},
		"an encoded surrogate":                  {"\"\xed\xa0\x80\"", nil},
		"a byte order mark":                     {"\ufeff{}", nil},
		"nothing":                               {"", nil},
		"white space only":                      {"  ", nil},
		"text behind the value":                 {"{} {}", nil},
		"a number above the double range":       {`{"n":1e400}`, ErrRange},
		"a long number above the double range":  {`[` + strings.Repeat("9", 400) + `]`, ErrRange},
		"a number below the double range":       {`[-1e309]`, ErrRange},
		"one level too many":                    {`[[[[1]]]]`, ErrDepth},
		"one object too many":                   {`{"a":{"a":{"a":{}}}}`, ErrDepth},
		"ten thousand levels":                   {strings.Repeat("[", 9999) + strings.Repeat("]", 9999), ErrDepth},
		"a hundred thousand levels, unclosed":   {strings.Repeat("[", 100_000), nil},
		"a hundred thousand objects, unclosed ": {strings.Repeat(`{"a":`, 100_000), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(c.in), 3)
			require.Error(t, err)
			if c.want != nil {
				assert.ErrorIs(t, err, c.want)
			}
		})
	}
	assert.NoError(t, Check([]byte(`[[[1]]]`), 3), "three levels are within three")
	assert.NoError(t, Check([]byte(`{"e":1e308,"t":5e-324,"z":1e-400}`), 3))
}

func TestExactNumbers(t *testing.T) {
	for text, exact := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "-0e7": true, "0e-99999999999999999999": true,
		"0.10": true, "1e23": true, "1.0": true, "100e-2": true, "5e-324": true,
		"9007199254740991": true, "9007199254740992": true, "9007199254740993": false,
		"1152921504606846976": false, "1152921504606847000": true, "1e-400": false,
		"1e-99999999999999999999": false, "0.1000000000000000055511151231257827": false,
		"333333333.33333329": false, "123456789012345678": false,
	} {
		err := CheckExact([]byte(`{"a":[`+text+`]}`), 0)
		if exact {
			assert.NoError(t, err, text)
			continue
		}
		if assert.ErrorIs(t, err, ErrInexact, text) {
			assert.ErrorContains(t, err, "/a/0", text)
		}
	}
	assert.ErrorContains(t, CheckExact([]byte("9007199254740993"), 0), "the top level")
}

func TestCanonicalTextIsHandedBackWithoutACopy(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"b":[true,false,null,"x"],"c":{"d":-1.5,"e":1e+21}}`,
		`{"":0,"é":"\u0001\n\"\\","🂡":1,"` + "\ue000" + `":2}`,
		`"plain"`, `123456789012345680000`, `[]`, `{}`,
	} {
		got, err := Canonical([]byte(text))
		require.NoError(t, err)
		in := []byte(text)
		same, err := Canonical(in)
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
		assert.Same(t, &in[0], &same[0], text)
	}
}

func TestSplitNamesAndValues(t *testing.T) {
	got := map[string]Member{}
	record := VisitFunc(func(name []byte, m Member) { got[string(name)] = m })
	err := Split([]byte(` { "\u006fp" : "a\u0062c" , "n" : [ 1.0, {"z":1,"a":2} ] } `), 8, record)
	require.NoError(t, err)
	require.Len(t, got, 2)
	text, ok := got["op"].Text()
	assert.True(t, ok)
	assert.Equal(t, "abc", text)
	n := got["n"]
	require.NoError(t, n.Canonicalize())
	assert.Equal(t, `[1,{"a":2,"z":1}]`, string(n.Value))
	_, ok = n.Text()
	assert.False(t, ok)

	assert.ErrorIs(t, Split([]byte(`[1]`), 8, record), ErrNotObject)
	assert.ErrorIs(t, Split([]byte(`{"a":[[1]]}`), 2, record), ErrDepth)
	assert.ErrorIs(t, Split([]byte(`[[[1]]]`), 2, record), ErrDepth, "before it is no object")
}

func TestGetFindsAMemberOfACanonicalObject(t *testing.T) {
	m, ok := Get([]byte(`{"a":{"b":1},"b":[2]}`), "b")
	require.True(t, ok)
	assert.Equal(t, `[2]`, string(m.Value))
	for _, text := range []string{`{}`, `{"a":{"b":1}}`, `["b"]`, `"b"`, `null`} {
		_, ok := Get([]byte(text), "b")
		assert.False(t, ok, text)
	}
}

// The scan may call canonical text doubtful, but never doubtful text canonical.
func checkScan(t *testing.T, in []byte) {
	before := bytes.Clone(in)
	s, err := judge(in, 0)
	require.Equal(t, before, in, "input changed")
	if err != nil {
		return
	}
	want := jsontext.Value(bytes.Clone(in))
	require.NoError(t, want.Canonicalize())
	got, err := Canonical(in)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	if s.canonical {
		require.Equal(t, string(want), string(in))
	}
	again, err := Canonical(got)
	require.NoError(t, err)
	require.Equal(t, string(got), string(again), "canonical form is a fixed point")
	_ = Split(in, 0, &checkMembers{t: t, in: in})
	if got[0] != '{' {
		return
	}
	_ = Split(got, 0, VisitFunc(func(name []byte, m Member) {
		found, ok := Get(got, string(name))
		require.True(t, ok)
		require.Equal(t, string(m.Value), string(found.Value))
	}))
	_, ok := Get(got, "no such member, nowhere")
	require.False(t, ok)
}

// checkMembers checks what a visitor is told about the object in.
type checkMembers struct {
	t  *testing.T
	in []byte
}

func (c *checkMembers) Visit(name []byte, m Member, before int) {
	if before > 0 {
		prefix := append(bytes.Clone(c.in[:before]), '}')
		canonical, err := Canonical(prefix)
		require.NoError(c.t, err)
		require.Equal(c.t, string(prefix), string(canonical), "what stands before %q", name)
		require.Equal(c.t, byte(','), c.in[before])
	}
	require.NoError(c.t, m.Canonicalize())
	want := jsontext.Value(bytes.Clone(m.Value))
	require.NoError(c.t, want.Canonicalize())
	require.Equal(c.t, string(want), string(m.Value))
}

func TestSplitTellsHowFarTheTextIsCanonical(t *testing.T) {
	for text, want := range map[string]map[string]int{
		`{"a":1,"b":[2,3],"c":3}`: {"a": 0, "b": 6, "c": 16},
		`{"b":1,"a":2,"c":3}`:     {"b": 0, "a": -1, "c": -1},
		`{"a": 1,"b":2}`:          {"a": -1, "b": -1},
		`{"a":1.0,"b":2}`:         {"a": 0, "b": -1},
		`{"a":1 ,"b":2}`:          {"a": 0, "b": -1},
		`{"a":1, "b":2}`:          {"a": 0, "b": -1},
		`{"\u0061":1,"b":2}`:      {"a": -1, "b": -1},
	} {
		got := map[string]int{}
		require.NoError(t, Split([]byte(text), 0, beforeFunc(func(name string, before int) { got[name] = before })))
		assert.Equal(t, want, got, text)
	}
}

type beforeFunc func(name string, before int)

func (f beforeFunc) Visit(name []byte, _ Member, before int) { f(string(name), before) }

func TestScanAgreesWithTheCanonicalizerOnTheVectors(t *testing.T) {
	for _, v := range loadVectors(t) {
		checkScan(t, v.input(t))
	}
}

func FuzzCanonical(f *testing.F) {
	for _, v := range loadVectors(f) {
		f.Add(v.input(f))
	}
	f.Add([]byte(`{"\u0061":"\u000A\/","b":[1.50,-0,1E5]}`))
	f.Fuzz(checkScan)
}

func TestSlowNumbersAreRationed(t *testing.T) {
	list := func(number string, n int) []byte {
		return []byte("[" + strings.Repeat(number+",", n-1) + number + "]")
	}
	for name, number := range map[string]string{
		"the smallest double":    "5e-324",
		"a subnormal":            "1e-310",
		"one that vanishes":      "1e-400",
		"more than 19 digits":    "12345678901234567891",
		"digits behind zeros":    "0.00012345678901234567891",
		"digits and an exponent": "1.2345678901234567891e300",
	} {
		assert.NoError(t, Check(list(number, MaxSlowNumbers), 0), name)
		assert.ErrorIs(t, Check(list(number, MaxSlowNumbers+1), 0), ErrSlow, name)
	}
	for name, number := range map[string]string{
		"a plain integer": "123456789012345678", "zeros": "0.00000000000000000000000000001", "17 digits": "0.12345678901234567", "large": "1e308",
		"a power of ten": "1e20", "its digits": "100000000000000000000", "a fraction with zeros": "0.125000000000000000000000",
		"zero": "0.0", "negative zero": "-0", "zero with an exponent": "0e-400",
	} {
		assert.NoError(t, Check(list(number, 20*MaxSlowNumbers), 0), name)
	}
}

// What was accepted once is accepted in its canonical form as well.
func TestCanonicalTextIsNotSlowerToRead(t *testing.T) {
	for _, number := range []string{"1e20", "123e18", "1.7976931348623157e308", "0.30000000000000004", "9007199254740993e5", "1e-6", "2.5e-320"} {
		list := []byte("[" + strings.Repeat(number+",", MaxSlowNumbers-1) + number + "]")
		canonical, err := Canonical(list)
		require.NoError(t, err, number)
		_, err = Canonical(canonical)
		require.NoError(t, err, number)
	}
}

func TestAValueCannotBeAppendedInto(t *testing.T) {
	m, ok := Get([]byte(`{"a":[1],"b":2}`), "a")
	require.True(t, ok)
	assert.Equal(t, len(m.Value), cap(m.Value))
}
