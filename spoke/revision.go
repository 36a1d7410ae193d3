package spoke

import "math"

// NextRevision decides a put by optimistic concurrency and returns the revision that the
// store gives to what is put. Stored is the revision that the store holds, nil when it
// holds nothing under that id; expected is what the caller believes it holds, nil for
// nothing.
//
// The error is a [*Reject]: REVISION_CONFLICT when nothing was expected and something is
// there, or when the expected revision is ahead; STORED_REVISION_STALE when it is behind
// or what it stands for is gone; INTERNAL_ERROR when no revision follows the stored one.
// Details carry expected_base_revision and revision, as far as there are any.
//
// Source: wire spec, section 7.
func NextRevision(stored, expected *int64) (int64, error) {
	switch {
	case stored == nil && expected == nil:
		return 1, nil
	case stored == nil:
		return 0, revisionReject(CodeStoredRevisionStale, "nothing is stored under this id", stored, expected)
	case expected == nil:
		return 0, revisionReject(CodeRevisionConflict, "something is stored under this id already", stored, expected)
	case *expected < *stored:
		return 0, revisionReject(CodeStoredRevisionStale, "the expected revision is behind the stored one", stored, expected)
	case *expected > *stored:
		return 0, revisionReject(CodeRevisionConflict, "the expected revision is ahead of the stored one", stored, expected)
	case *stored == math.MaxInt64:
		return 0, revisionReject(CodeInternalError, "no revision follows the stored one", stored, expected)
	}
	return *stored + 1, nil
}

func revisionReject(code Code, message string, stored, expected *int64) *Reject {
	r := Rejectf(code, "%s", message)
	if expected != nil {
		r = r.WithDetail("expected_base_revision", float64(*expected))
	}
	if stored != nil {
		r = r.WithDetail("revision", float64(*stored))
	}
	return r
}
