package wirejson

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnApplicationsValueIsEncodedAsGoProgrammersExpect(t *testing.T) {
	type value struct {
		Count int            `json:"count,omitempty"`
		List  []int          `json:"list"`
		Map   map[string]int `json:"map"`
		Bytes []byte         `json:"bytes"`
	}
	got, err := Raw(value{Bytes: []byte("hi")})
	require.NoError(t, err)
	assert.JSONEq(t, `{"list":[],"map":{},"bytes":"aGk="}`, string(got))

	got, err = Raw(map[string]any{"a": json.Number("1.50"), "b": json.Number("")})
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":1.50,"b":0}`, string(got))
	_, err = Raw(json.Number("1; drop"))
	assert.ErrorIs(t, err, ErrNotJSON)

	raw := json.RawMessage(` {"kept" : 1.50} `)
	got, err = Raw(raw)
	require.NoError(t, err)
	assert.Equal(t, raw, got)
	got, err = Raw(nil)
	require.NoError(t, err)
	assert.Equal(t, "null", string(got))
	got, err = Raw(json.RawMessage(nil))
	require.NoError(t, err)
	assert.Equal(t, "null", string(got))

	for _, v := range []any{make(chan int), math.NaN(), "\xff", func() {}, map[string]any{"a": complex(1, 2)}} {
		_, err := Raw(v)
		assert.ErrorIs(t, err, ErrNotJSON, "%T", v)
	}
}
