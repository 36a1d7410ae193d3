package draft7

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzCompile holds for any schema and value: what is judged usable compiles, compiling
// and validating neither panic nor disagree, and peer's bounds only take away.
func FuzzCompile(f *testing.F) {
	seeds := 0
	for _, c := range verdicts {
		for _, value := range append(c.accepts, c.refuses...) {
			f.Add([]byte(c.schema), []byte(value))
			seeds++
		}
	}
	require.NotZero(f, seeds)
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		peer, err := Compile(schema, true)
		assert.Equal(t, err == nil, Judge(schema, true) == nil)
		own, ownErr := Compile(schema, false)
		if ownErr != nil {
			assert.NotContains(t, ownErr.Error(), "gojsonschema")
			assert.Error(t, err)
			return
		}
		problems := own.Validate(value)
		for _, p := range problems {
			assert.NotContains(t, p.Message, "gojsonschema")
		}
		if err == nil {
			assert.Equal(t, problems, peer.Validate(value))
		}
	})
}
