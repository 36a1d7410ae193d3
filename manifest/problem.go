package manifest

import (
	"fmt"

	"github.com/spoke-peer/spoke-go/manifest/internal/draft7"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Problem is one way in which a manifest, a descriptor or a value is not as it should
// be. Path is an RFC 6901 JSON pointer to the place, "" for the whole.
type Problem struct {
	Path    string
	Message string
}

// String returns the path, if any, and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// MaxProblems bounds the problems of one report, so that a hostile manifest cannot make
// it long: where there are as many, there may be more.
const MaxProblems = draft7.MaxProblems

// Err returns nil for no problems, else one [*spoke.Reject] of code INVALID_INPUT that
// names the first problem in its message and lists up to 16 in details.errors, each
// as {path, message}.
func Err(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	message := clip(problems[0].String())
	if more := len(problems) - 1; more > 0 {
		message = fmt.Sprintf("%s (and %d more)", message, more)
	}
	return spoke.Rejectf(spoke.CodeInvalidInput, "%s", message).WithDetail(detailErrors, listed(problems))
}

// maxListed bounds the problems that travel in a reject's details.
const maxListed = 16

// listed returns the problems as details carry them.
func listed(problems []Problem) []any {
	problems = problems[:min(len(problems), maxListed)]
	list := make([]any, len(problems))
	for i, p := range problems {
		list[i] = map[string]any{"path": clip(p.Path), "message": clip(p.Message)}
	}
	return list
}

// reported takes over the problems that a schema reports.
func reported(problems []draft7.Problem) []Problem {
	var list []Problem
	for _, p := range problems {
		list = append(list, Problem(p))
	}
	return list
}

// placed moves the problems of a part to its place in the whole.
func placed(path string, problems []Problem) []Problem {
	for i := range problems {
		problems[i].Path = path + problems[i].Path
	}
	return problems
}

// clip shortens text that a peer may have chosen.
func clip(text string) string { return draft7.Clip(text) }

// Names of members of details.
const (
	detailIndex        = "index"
	detailCapabilityID = "capability_id"
	detailNamespace    = "namespace"
	detailDuplicateOf  = "duplicate_of"
	detailMissing      = "missing"
	detailErrors       = "errors"
)

// invalidField returns a reject that blames one field.
func invalidField(field, format string, args ...any) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInvalidInput, format, args...).WithDetail(spoke.DetailField, field)
}
