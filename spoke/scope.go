package spoke

import (
	"encoding/json"
	"slices"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// Scope selects a part of what a host knows. ScopeID is the host's own name for a world, a
// book, a chapter; the other members narrow it down and hold together. Nil is absent and
// narrows nothing, an empty list selects nothing.
//
// Source: wire spec, section 7.
type Scope struct {
	ScopeID          string     `json:"scope_id" wire:"required"`
	EntryIDs         []string   `json:"entry_ids,omitzero"`
	EntryTypes       []string   `json:"entry_types,omitzero"`
	TimelineEventIDs []string   `json:"timeline_event_ids,omitzero"`
	SourceID         *string    `json:"source_id,omitzero"`
	TimelineScale    *string    `json:"timeline_scale,omitzero"`
	ForkID           *string    `json:"fork_id,omitzero" wire:"nonempty"`
	Extensions       Extensions `json:"extensions,omitzero" wire:"extensions"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// MatchesEntry reports whether e passes everything in s that narrows entries down:
// EntryIDs, EntryTypes and SourceID. What ScopeID means is for the host to say.
func (s Scope) MatchesEntry(e KnowledgeEntry) bool {
	return listed(s.EntryIDs, e.EntryID) && listed(s.EntryTypes, e.EntryType) && fromSource(s.SourceID, e.SourceAnchor)
}

// MatchesEvent reports whether e passes everything in s that narrows timeline events
// down: TimelineEventIDs, TimelineScale, ForkID and SourceID. An event without a fork
// or a scale does not match a scope that names one.
func (s Scope) MatchesEvent(e TimelineEvent) bool {
	return listed(s.TimelineEventIDs, e.TimelineEventID) &&
		same(s.TimelineScale, e.TimelineScale) && same(s.ForkID, e.ForkID) && fromSource(s.SourceID, e.SourceAnchor)
}

func listed(list []string, value string) bool { return list == nil || slices.Contains(list, value) }

// same reports whether value is what is wanted, if something is.
func same(want, value *string) bool { return want == nil || value != nil && *value == *want }

func fromSource(want *string, anchor *SourceAnchor) bool {
	return want == nil || anchor != nil && anchor.SourceID == *want
}

// MarshalJSON implements [json.Marshaler].
func (s Scope) MarshalJSON() ([]byte, error) {
	type plain Scope
	return wirejson.Marshal(plain(s))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Scope) UnmarshalJSON(data []byte) error {
	type plain Scope
	return shape.Decode(data, (*plain)(s))
}
