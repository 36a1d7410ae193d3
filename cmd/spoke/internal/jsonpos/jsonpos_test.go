package jsonpos_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/jsonpos"
)

func TestPointersAreFoundWhereTheirNamesStand(t *testing.T) {
	x, err := jsonpos.New([]byte("{\n  \"é\": 1, \"b\": [10,\n\t{\"c/d\": {}}]\n}\n"))
	require.NoError(t, err)
	for pointer, want := range map[string]jsonpos.Position{
		"":            {Line: 1, Column: 1},
		"/é":          {Line: 2, Column: 3},
		"/b":          {Line: 2, Column: 11},
		"/b/0":        {Line: 2, Column: 17},
		"/b/1":        {Line: 3, Column: 2},
		"/b/1/c~1d":   {Line: 3, Column: 3},
		"/b/1/absent": {Line: 3, Column: 2},
		"/b/7/x/y":    {Line: 2, Column: 11},
		"/nowhere":    {Line: 1, Column: 1},
	} {
		assert.Equal(t, want, x.Find(pointer), pointer)
	}
}

func TestTextThatIsNoJSONSaysWhereItEnds(t *testing.T) {
	for text, want := range map[string]jsonpos.Position{
		"":                    {Line: 1, Column: 1},
		"{\n \"a\" 1}":        {Line: 2, Column: 6},
		"{} {}":               {Line: 1, Column: 4},
		"{\"a\":1,\n\"a\":2}": {Line: 2, Column: 1},
		"[1,\n2":              {Line: 2, Column: 2},
	} {
		x, err := jsonpos.New([]byte(text))
		assert.Error(t, err, text)
		assert.Equal(t, want, x.End(), text)
	}
}
