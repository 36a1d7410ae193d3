package tools_test

import (
	"encoding/json"
	"math/big"
	"math/rand"
	"net/netip"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

type Scalars struct {
	Bool    bool
	Int     int32
	Sized   int8
	Natural uint16
	Octet   byte
	Single  float32
	Double  float64
	Text    string
	Named   octet
}

type texts struct {
	Text     readable            `json:"text"`
	List     []readable          `json:"list"`
	Pointers []*readable         `json:"pointers"`
	Array    [3]readable         `json:"array"`
	Map      map[string]readable `json:"map"`
	ByCode   map[code]int8       `json:"by_code"`
	Behind   *struct{ Grade grade }
	Grades   []grade `json:"grades,omitempty"`
}

// readable is a number with a text form.
type readable uint8

func (r readable) MarshalText() ([]byte, error) { return (*grade)(&r).MarshalText() }

func (r *readable) UnmarshalText(text []byte) error { return (*grade)(r).UnmarshalText(text) }

type code string

type byteKinds struct {
	Bytes  []byte
	Named  []octet
	Array  [4]byte
	Matrix [2][]byte
	Map    map[string][]byte
	Maybe  *[]byte
	Fixed  *[2]byte
}

type nested struct {
	Lists  [][]Scalars
	Maps   []map[string][]*Scalars
	Deep   ***int16
	Boxed  boxed[boxed[map[string]*boxed[int8]]]
	Empty  struct{}
	Inline struct {
		A, B *string `json:",omitempty"`
	}
}

type (
	embeds struct {
		*Embedded
		Other
		Scalars
		Named Other `json:"named"`
		Text  []int8
	}
	Embedded struct {
		Text  string
		Extra *bool `json:"extra"`
	}
	Other struct {
		Extra  string `json:"other"`
		Double int8   `json:"double"`
	}
)

type omitting struct {
	A int16            `json:"a,omitempty"`
	B *int16           `json:"b,omitempty"`
	C []string         `json:"c,omitempty"`
	D map[string]int16 `json:"d,omitempty"`
	E Other            `json:"e,omitzero"`
	F *Other           `json:"f,omitzero"`
	G [2]int16         `json:"g,omitzero"`
}

// Whatever value a type has, its encoding fits the schema, is decoded, and is encoded
// alike.
func TestSchemasAgreeWithEncodingAndDecoding(t *testing.T) {
	for name, check := range map[string]func(*testing.T){
		"scalars": agree[Scalars], "pointers to them": agree[boxed[*Scalars]],
		"texts": agree[*texts], "bytes": agree[byteKinds], "nested": agree[nested],
		"embedded": agree[embeds], "omitted": agree[omitting], "maps": agree[map[string]omitting],
	} {
		t.Run(name, check)
	}
}

func agree[T any](t *testing.T) {
	r := open(t, echo[T](t))
	random := rand.New(rand.NewSource(1))
	for range 100 {
		value, ok := quick.Value(reflect.TypeFor[T](), random)
		require.True(t, ok)
		if v := value; v.Kind() == reflect.Pointer && v.IsNil() {
			continue // no arguments
		}
		want, err := wirejson.Raw(value.Interface())
		require.NoError(t, err)
		got, err := r.InvokeTool(t.Context(), echoID, json.RawMessage(want))
		require.NoError(t, err, "%s", want)
		require.JSONEq(t, string(want), string(got))
	}
}

func TestSchemasAgreeWithWhatOnlySomeValuesHave(t *testing.T) {
	x := byEnum("x")
	type choices struct {
		Any     any
		Raw     json.RawMessage
		Pointer *json.RawMessage
		Number  json.Number
		Numbers []json.Number
		Big     *big.Int
		Bigs    []big.Int
		Float   *big.Float
		Time    time.Time
		Times   map[string]*time.Time
		Span    time.Duration
		Addr    netip.Addr
		Enum    *byEnum
		Enums   []*byEnum
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))
	raw := json.RawMessage(`[1]`)
	for name, v := range map[string]choices{
		"nothing": {},
		"everything": {map[string]any{"a": []any{nil, 1.5}}, raw, &raw, "1.5", []json.Number{"", "-2"}, big.NewInt(7), []big.Int{*big.NewInt(8)},
			big.NewFloat(1.5), at, map[string]*time.Time{"a": &at, "b": nil}, time.Second, netip.MustParseAddr("::1"), &x, []*byEnum{nil, &x}},
	} {
		want, err := wirejson.Raw(v)
		require.NoError(t, err)
		got, err := open(t, echo[choices](t)).InvokeTool(t.Context(), echoID, json.RawMessage(want))
		require.NoError(t, err, name)
		assert.JSONEq(t, string(want), string(got), name)
	}
}
