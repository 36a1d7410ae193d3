package spoke_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/spoke"
)

func TestAPutIsDecidedByTheRevisions(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		stored, expected *int64
		next             int64
		code             spoke.Code
		details          map[string]any
	}{
		"nothing expected, nothing there":   {nil, nil, 1, "", nil},
		"the expected revision is there":    {at(4), at(4), 5, "", nil},
		"an entry that never had a put":     {at(0), at(0), 1, "", nil},
		"nothing expected, something there": {at(4), nil, 0, spoke.CodeRevisionConflict, map[string]any{"revision": 4.0}},
		"ahead":                             {at(4), at(5), 0, spoke.CodeRevisionConflict, map[string]any{"revision": 4.0, "expected_base_revision": 5.0}},
		"behind":                            {at(4), at(3), 0, spoke.CodeStoredRevisionStale, map[string]any{"revision": 4.0, "expected_base_revision": 3.0}},
		"no revision is left":               {at(math.MaxInt64), at(math.MaxInt64), 0, spoke.CodeInternalError, map[string]any{"revision": 0x1p63, "expected_base_revision": 0x1p63}},
		"gone":                              {nil, at(1), 0, spoke.CodeStoredRevisionStale, map[string]any{"expected_base_revision": 1.0}},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := spoke.NextRevision(c.stored, c.expected)
			assert.Equal(t, c.next, next)
			assert.Equal(t, c.code, spoke.CodeOf(err))
			if r, ok := errors.AsType[*spoke.Reject](err); ok {
				assert.Equal(t, c.details, r.Details)
			}
		})
	}
}

func TestAScopeNarrowsByEverythingItStates(t *testing.T) {
	entry := spoke.KnowledgeEntry{EntryID: "e", EntryType: "item", SourceAnchor: &spoke.SourceAnchor{SourceID: "m"}}
	bare := spoke.KnowledgeEntry{EntryID: "b", EntryType: "note"}
	event := spoke.TimelineEvent{TimelineEventID: "v", TimelineScale: new("moment"), ForkID: new("f"), SourceAnchor: entry.SourceAnchor}
	plain := spoke.TimelineEvent{TimelineEventID: "p"}
	for name, c := range map[string]struct {
		scope                     spoke.Scope
		entry, bare, event, plain bool
	}{
		"nothing stated":        {spoke.Scope{}, true, true, true, true},
		"entry ids":             {spoke.Scope{EntryIDs: []string{"x", "e"}}, true, false, true, true},
		"no entry ids":          {spoke.Scope{EntryIDs: []string{}}, false, false, true, true},
		"entry types":           {spoke.Scope{EntryTypes: []string{"note"}}, false, true, true, true},
		"both":                  {spoke.Scope{EntryIDs: []string{"e"}, EntryTypes: []string{"note"}}, false, false, true, true},
		"event ids":             {spoke.Scope{TimelineEventIDs: []string{"p"}}, true, true, false, true},
		"a scale":               {spoke.Scope{TimelineScale: new("moment")}, true, true, true, false},
		"another scale":         {spoke.Scope{TimelineScale: new("brief")}, true, true, false, false},
		"a fork":                {spoke.Scope{ForkID: new("f")}, true, true, true, false},
		"a fork and another id": {spoke.Scope{ForkID: new("f"), TimelineEventIDs: []string{"p"}}, true, true, false, false},
		"a source":              {spoke.Scope{SourceID: new("m")}, true, false, true, false},
		"another source":        {spoke.Scope{SourceID: new("n")}, false, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.entry, c.scope.MatchesEntry(entry), "entry")
			assert.Equal(t, c.bare, c.scope.MatchesEntry(bare), "bare entry")
			assert.Equal(t, c.event, c.scope.MatchesEvent(event), "event")
			assert.Equal(t, c.plain, c.scope.MatchesEvent(plain), "plain event")
		})
	}
}

func ExampleNextRevision() {
	stored := int64(7)
	_, err := spoke.NextRevision(&stored, nil)
	fmt.Println(spoke.CodeOf(err))
	next, err := spoke.NextRevision(&stored, new(int64(7)))
	fmt.Println(next, err)
	// Output:
	// REVISION_CONFLICT
	// 8 <nil>
}
