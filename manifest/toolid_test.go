package manifest_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/spoke-peer/spoke-go/manifest"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type toolIDCase struct {
	ID        string     `json:"id"`
	OK        bool       `json:"ok"`
	Code      spoke.Code `json:"code"`
	Namespace string     `json:"namespace"`
	ToolID    string     `json:"tool_id"`
}

func TestToolIDVectors(t *testing.T) {
	for _, c := range load[toolIDCase](t, "tool_ids.json") {
		t.Run(fmt.Sprintf("%q", c.ID), func(t *testing.T) {
			namespace, tool, err := manifest.ParseToolID(c.ID)
			assert.Equal(t, c.OK, manifest.ValidToolID(c.ID))
			assert.Equal(t, []string{c.Namespace, c.ToolID}, []string{namespace, tool})
			if c.OK {
				require.NoError(t, err)
				return
			}
			reject := rejectOf(t, err)
			assert.Equal(t, c.Code, reject.Code)
			assert.Equal(t, map[string]any{"capability_id": c.ID}, reject.Details)
		})
	}
}

// toolID is the grammar as the wire spec writes it; \z is the end of input.
var toolID = regexp.MustCompile(`^tools\.([a-z][a-z0-9_-]*)\.([a-z0-9][a-z0-9_-]*)\z`)

func FuzzParseToolID(f *testing.F) {
	cases := load[toolIDCase](f, "tool_ids.json")
	for _, c := range cases {
		f.Add(c.ID)
	}
	f.Fuzz(func(t *testing.T, id string) {
		namespace, tool, err := manifest.ParseToolID(id)
		match := toolID.FindStringSubmatch(id)
		require.Equal(t, match != nil, err == nil)
		require.Equal(t, err == nil, manifest.ValidToolID(id))
		if err == nil {
			require.Equal(t, match[1:], []string{namespace, tool})
			require.Equal(t, "tools."+namespace+"."+tool, id)
		}
	})
}
