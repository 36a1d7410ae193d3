package spoke

import (
	"encoding/json"

	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/wirejson"
)

// TimelineEvent says when something happened. OccurredAt is a date and time or the
// world's own words ("day 3"); SortKey orders events where those do not. ForkID names the
// branch of history that the event belongs to (capability l5-fork).
//
// Source: wire spec, section 7.
type TimelineEvent struct {
	SchemaVersion       int                  `json:"schema_version" wire:"required,min=1"`
	TimelineEventID     string               `json:"timeline_event_id" wire:"required"`
	CanonicalName       string               `json:"canonical_name" wire:"required,nonempty"`
	TimelineScale       *string              `json:"timeline_scale,omitzero"`
	OccurredAt          *string              `json:"occurred_at,omitzero"`
	Description         *string              `json:"description,omitzero"`
	ParticipantEntryIDs []string             `json:"participant_entry_ids,omitzero"`
	SourceAnchor        *SourceAnchor        `json:"source_anchor,omitzero"`
	SortKey             *string              `json:"sort_key,omitzero"`
	ForkID              *string              `json:"fork_id,omitzero" wire:"nonempty"`
	ParentForkID        *string              `json:"parent_fork_id,omitzero" wire:"nonempty"`
	ComputableLogs      []ComputableLogEntry `json:"computable_logs,omitzero"`
	CreatedAt           *string              `json:"created_at,omitzero" wire:"time"`
	UpdatedAt           *string              `json:"updated_at,omitzero" wire:"time"`
	Extensions          Extensions           `json:"extensions" wire:"required,extensions"`
	Modules             Modules              `json:"modules,omitzero" wire:"modules"`

	// Unknown keeps members that this library does not know.
	Unknown map[string]json.RawMessage `json:",embed"`
}

// ComputableLogEntry records that computable fields of an entry changed. It is for
// display; what holds is in the entry.
type ComputableLogEntry struct {
	LoggedAt  string        `json:"logged_at" wire:"required,time"`
	EntryID   string        `json:"entry_id" wire:"required"`
	Changes   []FieldChange `json:"changes" wire:"required"`
	SessionID *string       `json:"session_id,omitzero"`
	Message   *string       `json:"message,omitzero"`

	Unknown map[string]json.RawMessage `json:",embed"`
}

// MarshalJSON implements [json.Marshaler].
func (e TimelineEvent) MarshalJSON() ([]byte, error) {
	type plain TimelineEvent
	return wirejson.Marshal(plain(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *TimelineEvent) UnmarshalJSON(data []byte) error {
	type plain TimelineEvent
	return shape.Decode(data, (*plain)(e))
}

// MarshalJSON implements [json.Marshaler].
func (e ComputableLogEntry) MarshalJSON() ([]byte, error) {
	type plain ComputableLogEntry
	return wirejson.Marshal(plain(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *ComputableLogEntry) UnmarshalJSON(data []byte) error {
	type plain ComputableLogEntry
	return shape.Decode(data, (*plain)(e))
}
