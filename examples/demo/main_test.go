package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDemoPrintsEveryStepAndSucceeds(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	for _, line := range []string{
		`{"rolled":{"rolls":[1,2],"total":3}}`,
		`KNOWLEDGE_ENTRY_NOT_FOUND {"entry_id":"demo-harbor/item/nowhere"}`,
		`INTERNAL_ERROR {"kind":"timeout"}`,
		`handshake peer_not_allowed`,
	} {
		assert.Contains(t, out.String(), line)
	}
	assert.Equal(t, 2, strings.Count(out.String(), unsupported))
}

func TestAStepThatIsNotAsItShouldBeFails(t *testing.T) {
	d := &demo{out: io.Discard}
	assert.NoError(t, d.step("x", "a", "a"))
	assert.EqualError(t, d.step("x", "a", "b"), "step 2: observed b, want a")
}
