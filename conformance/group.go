package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

// caseFunc judges one case of a file: nil when this library does what it says.
type caseFunc func(ctx context.Context, f *vectors.File, text json.RawMessage) error

// lists holds the check of each list of a file.
type lists map[string]caseFunc

// groups holds one line per group that this library is held to.
var groups = map[string]lists{
	"jcs":            {"cases": each(checkCanonical)},
	"key_order":      {"cases": each(checkCanonical)},
	"escapes":        {"cases": each(checkCanonical)},
	"numbers":        {"doubles": each(checkDouble), "texts": each(checkNumber)},
	"identity":       {"cases": each(checkIdentity), "not_peer_ids": each(checkNotPeerID)},
	"tool_ids":       {"cases": each(checkToolID)},
	"manifest_tools": {"cases": each(checkManifestTools)},
	"tool_arguments": {"cases": each(checkToolArguments)},
	"roll_dice":      {"cases": each(checkRollDice)},
	"hello":          {"sign": each(checkHelloSign), "verify": each(checkHelloVerify)},
	"envelope":       {"sign": checkSign, "verify": checkVerify},
	"payloads":       {"sign": checkSign, "verify": checkVerify},
	"ports":          {"cases": each(checkPort), "sign": checkSign},
	"dispatch":       {"cases": each(checkDispatch)},
	"token":          {"verify": each(checkTokenVerify), "issue": each(checkTokenIssue)},
	"router":         {"cases": each(checkRouter)},
	"toy_world":      {"descriptors": each(checkToyDescriptor), "hello": each(checkToyHello), "session": checkSign},
	"sequence":       {"cases": each(checkSequence)},
	"echo":           {"cases": each(checkEcho)},
	"probe":          {"cases": each(checkProbe)},
	"negotiation":    {"cases": each(checkNegotiation)},
	"nonce_replay":   {"cases": each(checkNonceReplay)},
}

// each makes a caseFunc of a check that needs nothing but its case.
func each[C any](check func(context.Context, C) error) caseFunc {
	return func(ctx context.Context, _ *vectors.File, text json.RawMessage) error {
		var c C
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("the case cannot be read: %w", err)
		}
		return check(ctx, c)
	}
}

// inFile makes a caseFunc of a check that needs members beside the lists, decoded as S.
func inFile[S, C any](check func(context.Context, S, C) error) caseFunc {
	return func(ctx context.Context, f *vectors.File, text json.RawMessage) error {
		var shared S
		if err := f.Decode(&shared); err != nil {
			return fmt.Errorf("the file cannot be read: %w", err)
		}
		return each(func(ctx context.Context, c C) error { return check(ctx, shared, c) })(ctx, f, text)
	}
}
