package spoke_test

import (
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/spoke"
)

// Members that this library does not know survive, and numbers keep their text.
func ExampleKnowledgeEntry() {
	const text = `{"schema_version":1,"entry_id":"lamp","entry_type":"item","canonical_name":"Lamp",` +
		`"status":"confirmed","body":{},"extensions":{"shop":{"price":1.50}},"glow":"soft"}`
	var lamp spoke.KnowledgeEntry
	if err := json.Unmarshal([]byte(text), &lamp); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lamp.CanonicalName, lamp.Revision == nil)
	out, err := json.Marshal(lamp)
	fmt.Println(string(out) == text, err)

	err = json.Unmarshal([]byte(`{"schema_version":1,"entry_id":"lamp"}`), &lamp)
	fmt.Println(err)
	// Output:
	// Lamp true
	// true <nil>
	// entry_type is missing
}

func ExampleScope_MatchesEntry() {
	scope := spoke.Scope{ScopeID: "demo-harbor", EntryTypes: []string{"item", "note"}}
	fmt.Println(scope.MatchesEntry(spoke.KnowledgeEntry{EntryID: "lamp", EntryType: "item"}))
	fmt.Println(scope.MatchesEntry(spoke.KnowledgeEntry{EntryID: "mira", EntryType: "character"}))
	// Output:
	// true
	// false
}

func ExampleScope_MatchesEvent() {
	scope := spoke.Scope{ScopeID: "demo-harbor", ForkID: new("storm")}
	fmt.Println(scope.MatchesEvent(spoke.TimelineEvent{TimelineEventID: "landfall", ForkID: new("storm")}))
	fmt.Println(scope.MatchesEvent(spoke.TimelineEvent{TimelineEventID: "quiet spring"}))
	// Output:
	// true
	// false
}
