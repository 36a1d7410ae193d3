package wirejson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

type point struct {
	X   int         `json:"x"`
	Num json.Number `json:"num"`
	Any any         `json:"any"`
}

func TestIntoDecodesAsEncodingJSONWouldButStrictly(t *testing.T) {
	var p point
	require.NoError(t, wirejson.Into([]byte(`{"x":1,"num":1.50,"any":{"a":[1]},"more":2}`), &p, nil))
	assert.Equal(t, point{1, "1.50", map[string]any{"a": []any{1.0}}}, p)
	for _, text := range []string{`{"x":1,"x":2}`, `{"x":"1"}`, `{"num":true}`, `{`} {
		assert.Error(t, wirejson.Into([]byte(text), &p, nil), text)
	}
	var q point
	require.NoError(t, wirejson.Into([]byte(`{"X":1,"num":null}`), &q, nil))
	assert.Equal(t, point{}, q, "names are case-sensitive")
}

func TestDefaultsStandWhereTheTextHasNothing(t *testing.T) {
	defaults := wirejson.NewDefaults(func(pointer any) {
		if p, ok := pointer.(*point); ok {
			p.X = 7
		}
	})
	var list map[string][]point
	require.NoError(t, wirejson.Into([]byte(`{"a":[{},{"x":0,"num":2}]}`), &list, defaults))
	assert.Equal(t, map[string][]point{"a": {{X: 7}, {X: 0, Num: "2"}}}, list)
}

func TestRawWritesANumberAsANumber(t *testing.T) {
	got, err := wirejson.Raw(map[string]any{"n": json.Number("1.50"), "zero": json.Number(""), "by": map[json.Number]int{"2": 1}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"n":1.50,"zero":0,"by":{"2":1}}`, string(got))
	assert.Contains(t, string(got), "1.50")
	for _, bad := range []json.Number{"x", "{}", `"1"`, "1 2", "NaN"} {
		_, err := wirejson.Raw([]json.Number{bad})
		assert.ErrorIs(t, err, wirejson.ErrNotJSON, "%s", bad)
	}
}
