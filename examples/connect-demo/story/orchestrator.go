package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// orchestrator is a world whose host does more than store: when an app puts its compass,
// the host rolls dice on that app and puts the roll into the world. It has the world's
// other ports as they are.
type orchestrator struct {
	*toyworld.World
	record func(Roll)
}

// Roll is what became of one attempt to roll dice on an app.
type Roll struct {
	// Offered lists the tools in the app's authenticated manifest.
	Offered []string
	// Result is what the dice showed.
	Result toyworld.RollResult
	// Stored is the entry that holds the result, "" when there is none.
	Stored string
	// Err is why there is no result or why it was not stored, nil if all went well.
	Err error
}

// PutKnowledgeEntry implements [spoke.KnowledgePort].
func (o orchestrator) PutKnowledgeEntry(ctx context.Context, entry spoke.KnowledgeEntry, expectedBaseRevision *int64) (spoke.KnowledgeEntry, error) {
	stored, err := o.World.PutKnowledgeEntry(ctx, entry, expectedBaseRevision)
	if err == nil && entry.EntryID == CompassID && expectedBaseRevision == nil {
		o.record(o.roll(ctx))
	}
	return stored, err
}

// roll asks the app that called for two dice. An app that does not offer them is a roll
// with an error: nothing is stored in its place.
func (o orchestrator) roll(ctx context.Context) (r Roll) {
	app, ok := connect.SessionFromContext(ctx)
	if !ok {
		r.Err = errors.New("no app called")
		return r
	}
	for _, tool := range app.RemoteTools() {
		r.Offered = append(r.Offered, tool.CapabilityID)
	}
	answer, err := app.InvokeTool(ctx, toyworld.RollDiceID, map[string]int{"count": 2, "sides": 6})
	if err == nil {
		err = json.Unmarshal(answer, &r.Result)
	}
	if err == nil {
		r.Stored, err = o.store(ctx, r.Result)
	}
	r.Err = err
	return r
}

// store puts the roll into the world and returns the entry's id.
func (o orchestrator) store(ctx context.Context, result toyworld.RollResult) (string, error) {
	rolls, err := json.Marshal(result.Rolls)
	if err != nil {
		return "", err
	}
	stored, err := o.World.PutKnowledgeEntry(ctx, spoke.KnowledgeEntry{
		SchemaVersion: spoke.SchemaVersion,
		EntryID:       DiceRollID,
		EntryType:     "note",
		CanonicalName: "Dice roll",
		Status:        "confirmed",
		Body: spoke.KnowledgeBody{
			Summary:    new(fmt.Sprintf("Two dice on the app's table: %d.", result.Total)),
			Computable: spoke.Fields{"rolls": rolls, "total": fmt.Append(nil, result.Total)},
		},
	}, nil)
	return stored.EntryID, err
}
