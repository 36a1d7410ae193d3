package draft7

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ordinary is work that the steps were measured with.
var ordinary = []struct{ schema, value string }{
	{`{"items":{"type":"number","minimum":0,"maximum":1}}`, many(2000, `0.123456`)},
	{`{"items":{"multipleOf":0.01}}`, many(500, `12.345`)},
	{`{"items":{"maximum":5}}`, many(500, `12.345`)},
	{`{"items":{"type":"string"}}`, many(500, `1`)},
	{`{"const":1}`, many(2000, `1`)},
	{`{"uniqueItems":true}`, "[" + numbers(2000) + "]"},
}

// extreme is work with numbers that have as many digits as fractions of doubles can.
var extreme = []struct{ name, schema, value string }{
	{"multipleOf", `{"items":{"multipleOf":5e-324}}`, many(50, `2.2250738585072014e-308`)},
	{"multipleOf a large number", `{"items":{"multipleOf":1.7976931348623157e+308}}`, many(500, `1e-300`)},
	{"multipleOf something between", `{"items":{"multipleOf":7e-80}}`, many(200, `1e-300`)},
	{"extreme multiples of ordinary numbers", `{"items":{"multipleOf":0.01}}`, many(500, `1.1234e-300`)},
	{"minimum", `{"items":{"minimum":2e-308}}`, many(50, `-1`)},
	{"exclusiveMinimum", `{"items":{"exclusiveMinimum":2e-308}}`, many(50, `0`)},
	{"maximum", `{"items":{"maximum":1.7e-300}}`, many(50, `1e+308`)},
	{"exclusiveMaximum", `{"items":{"exclusiveMaximum":5e-324}}`, many(50, `1`)},
	{"bounds that hold", `{"items":{"minimum":5e-324,"maximum":1e308}}`, many(2000, `1.1234e-300`)},
	{"reading tiny numbers again and again", `{"items":{"allOf":` + many(20, `{}`) + `}}`, many(200, `1.1234e-300`)},
	{"reading huge numbers again and again", `{"items":{"allOf":` + many(20, `{}`) + `}}`, many(200, `1.1234e+300`)},
	{"dependencies", `{"items":{"dependencies":{"a":["b"]}}}`, many(2000, `1.1234e-300`)},
	{"format", `{"items":{"format":"date"}}`, many(500, `1.1234e-300`)},
	{"const", `{"const":1}`, many(500, `5e-324`)},
	{"enum", `{"enum":[1]}`, many(500, `5e-324`)},
	{"enum and const", `{"enum":[1],"const":2}`, many(500, `5e-324`)},
	{"enum in objects", `{"enum":[1]}`, `{` + members(500, `5e-324`) + `}`},
	{"uniqueItems", `{"uniqueItems":true}`, tiny(500)},
}

// tiny returns an array of n different numbers that are slow to read.
func tiny(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `1.%03de-310,`, i)
	}
	return "[" + strings.TrimSuffix(b.String(), ",") + "]"
}

// The factor that a step may take more time than it does in ordinary work. Charged like
// ordinary ones, extreme numbers take up to a hundred times as much.
const leeway = 6

func TestAStepOfExtremeNumbersTakesNoLongerThanOthers(t *testing.T) {
	var longest float64
	for _, c := range ordinary {
		longest = max(longest, stepTime(t, c.schema, c.value))
	}
	for _, c := range extreme {
		t.Run(c.name, func(t *testing.T) {
			assert.Less(t, stepTime(t, c.schema, c.value), leeway*longest)
		})
	}
}

// stepTime returns the nanoseconds that validating takes for each step of the gauge, the
// least of several times.
func stepTime(t *testing.T, schema, value string) float64 {
	t.Helper()
	s, err := Compile([]byte(schema), false)
	require.NoError(t, err)
	v, err := readValue([]byte(value))
	require.NoError(t, err)
	g := &gauge{}
	g.visit(s.root, v, spot{})
	least := time.Duration(1 << 62)
	for range 5 {
		began := time.Now()
		s.run(v)
		least = min(least, time.Since(began))
	}
	return float64(least) / float64(g.work)
}

func TestMagnitudeIsTheDistanceOfTheExponentFrom0(t *testing.T) {
	for text, want := range map[json.Number]int{`0`: 0, `-12.5`: 0, `1e+21`: 21, `-1.5e-7`: 7, `5e-324`: 324} {
		assert.Equal(t, want, magnitude(text), text)
	}
}

func TestTinyNumbersAreCountedWhereverTheyAre(t *testing.T) {
	v, err := decode([]byte(`[5e-324,{"a":-2.2e-308,"b":[1e-307,1e+308,1]},"5e-324",null]`))
	require.NoError(t, err)
	assert.Equal(t, 2, countSlow(v))
}
