package shape_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/shape"
)

type sample struct {
	Name    string                     `json:"name" wire:"required,nonempty"`
	Base    *int                       `json:"base" wire:"required,null"`
	Raw     json.RawMessage            `json:"raw,omitzero" wire:"object"`
	Map     map[string]bool            `json:"map,omitzero"`
	Nested  []struct{ Ignored string } `json:"nested,omitzero"`
	Hidden  string                     `json:"-"`
	Unknown map[string]json.RawMessage `json:",embed"`
}

func TestTheFirstMemberThatDoesNotFitIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"n","base":null}`:                      "",
		`{"name":"n","base":7,"raw":{"a":[]},"map":{}}`: "",
		`{"name":"n","base":7,"-":1,"Hidden":2}`:        "",
		`{"base":1}`:                                    "name is missing",
		`{"name":"n"}`:                                  "base is missing",
		`{}`:                                            "name is missing",
		`{"name":null,"base":1}`:                        "name must be a string that is not empty",
		`{"name":"","base":1}`:                          "name must be a string that is not empty",
		`{"name":"n","base":"x"}`:                       "base must be an integer",
		`{"name":"n","base":9223372036854775808}`:       "base must be an integer",
		`{"name":"n","base":1,"raw":[]}`:                "raw must be an object",
		`{"name":"n","base":1,"map":{"a":1}}`:           "map.a must be true or false",
		`{"name":"n","base":1,"map":{"":1}}`:            "map. must be true or false",
		`{"name":"n","base":1,"nested":[{},7]}`:         "nested[1] must be an object",
		`{"NAME":"n","base":1}`:                         "name is missing",
		`7`:                                             "the value must be an object",
		`null`:                                          "the value must be an object",
		`{"map":{"a":1},"name":7}`:                      "map.a must be true or false",
	} {
		err := shape.Check[sample]([]byte(text))
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.EqualError(t, err, want, text)
	}
	assert.EqualError(t, shape.Check[[]sample]([]byte(`[{"name":"n","base":1},{}]`)), "[1].name is missing")
}

func TestTextThatIsNotJSONIsRefusedWithoutNamingAMember(t *testing.T) {
	for _, text := range []string{``, `{`, `{"name"`, `{"name":}`, `{"name":"n","name":"m"}`, `{"name":"n","base":1,"nested":[`, `{"name":"n","base":1}0`} {
		err := shape.Check[sample]([]byte(text))
		require.Error(t, err, text)
		_, named := err.(*shape.Error)
		assert.False(t, named, text)
	}
}

func TestAFailedDecodeChangesNothing(t *testing.T) {
	v := sample{Name: "before"}
	require.Error(t, shape.Decode([]byte(`{"name":"after"}`), &v))
	assert.Equal(t, "before", v.Name)
	require.NoError(t, shape.Decode([]byte(`{"name":"after","base":null,"later":1.0}`), &v))
	assert.Equal(t, "after", v.Name)
	assert.Equal(t, "1.0", string(v.Unknown["later"]))
}

func TestAMisspeltWordInATagLetsNothingThrough(t *testing.T) {
	type misspelt struct {
		N int `json:"n" wire:"requierd"`
	}
	assert.Error(t, shape.Check[misspelt]([]byte(`{"n":1}`)))
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{`{"name":"n","base":null}`, `{}`, `{"name":"n","base":1,"nested":[{}]}`, `{"map":{"a":true}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if shape.Check[sample](text) == nil {
			var v sample
			require.NoError(t, shape.Decode(text, &v), "what was checked can be decoded")
		}
	})
}
