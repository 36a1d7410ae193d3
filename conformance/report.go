package conformance

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Status is how a group fared.
type Status string

// The statuses of a group.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	NotRun Status = "not run"
)

// Report is the outcome of [Run]. It is plain data and encodes to JSON.
type Report struct {
	// Format is the version of the vector files' format.
	Format int     `json:"format"`
	OK     bool    `json:"ok"`
	Passed int     `json:"passed"`
	Total  int     `json:"total"`
	Groups []Group `json:"groups"`
	// Problems are failures that belong to no group.
	Problems []string `json:"problems,omitempty"`
}

// Group is the outcome of one vector file.
type Group struct {
	Name   string `json:"name"`
	Rule   string `json:"rule"`
	Status Status `json:"status"`
	Passed int    `json:"passed"`
	Total  int    `json:"total"`
	// Milliseconds is how long the group took.
	Milliseconds float64 `json:"milliseconds"`
	// Note says why a group was not run.
	Note     string    `json:"note,omitempty"`
	Failures []Failure `json:"failures"`
}

// Failure is a vector of which this library does something else.
type Failure struct {
	Vector   string `json:"vector"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

func (g *Group) settle(took time.Duration) {
	g.Status = Passed
	if len(g.Failures) > 0 {
		g.Status = Failed
	}
	g.Milliseconds = float64(took.Microseconds()) / 1000
}

func (r *Report) addProblem(err error) { r.Problems = append(r.Problems, err.Error()) }

// finish sums the groups up. A run without a single case is a failure.
func (r *Report) finish() {
	ran, failed := 0, false
	for _, g := range r.Groups {
		failed = failed || g.Status == Failed
		if g.Status != NotRun {
			r.Passed += g.Passed
			r.Total += g.Total
			ran += g.Passed + len(g.Failures)
		}
	}
	if ran == 0 {
		r.addProblem(fmt.Errorf("nothing was run"))
	}
	r.OK = !failed && len(r.Problems) == 0
}

// WriteText writes the report for people: one line per group, then every failure.
func (r *Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range r.Groups {
		fmt.Fprintln(table, g.line())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, r.failures()+r.summary())
	return err
}

func (g Group) line() string {
	switch {
	case g.Status == NotRun:
		return fmt.Sprintf("%s\t-/%d\tnot run: %s", g.Name, g.Total, g.Note)
	default:
		return fmt.Sprintf("%s\t%d/%d\t%s\t%.1f ms", g.Name, g.Passed, g.Total, g.Status, g.Milliseconds)
	}
}

func (r *Report) failures() string {
	var b strings.Builder
	for _, g := range r.Groups {
		for _, f := range g.Failures {
			fmt.Fprintf(&b, "\nFAIL %s\n  expected  %s\n  got       %s\n", f.Vector, f.Expected, f.Got)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\nFAIL %s\n", p)
	}
	return b.String()
}

func (r *Report) summary() string {
	verdict := "ok"
	if !r.OK {
		verdict = "FAILED"
	}
	return fmt.Sprintf("\n%s: %d of %d cases passed\n", verdict, r.Passed, r.Total)
}
