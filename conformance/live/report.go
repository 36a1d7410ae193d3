package live

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// Report is what a peer did, rule by rule. It is plain data and encodes to JSON.
type Report struct {
	Role Role           `json:"role"`
	Peer connect.PeerID `json:"peer"`
	// Tool is the tool that was invoked, "" when none was negotiated.
	Tool string `json:"tool"`
	// OK: no rule failed, none was missed and at least one passed.
	OK      bool `json:"ok"`
	Passed  int  `json:"passed"`
	Failed  int  `json:"failed"`
	Lenient int  `json:"lenient"`
	NotRun  int  `json:"not_run"`
	// Missed counts those of NotRun for which there was no connection, or that came
	// after the end of the run. The others do not apply to this peer.
	Missed  int      `json:"missed"`
	Results []Result `json:"results"`
}

// Result is how the peer stands to one rule.
type Result struct {
	Rule string `json:"rule"`
	// Section is the section of the wire spec.
	Section int `json:"section"`
	// Stricter: the spec marks the rule as stricter than the reference.
	Stricter bool    `json:"stricter"`
	Verdict  Verdict `json:"verdict"`
	// Missed: the rule was not run for lack of a connection or of time, and another run
	// may judge it.
	Missed bool `json:"missed"`
	// Detail says what the peer did, "" for a pass.
	Detail       string  `json:"detail,omitempty"`
	Milliseconds float64 `json:"milliseconds"`
}

func (r *Report) finish() {
	counts := map[Verdict]int{}
	for _, result := range r.Results {
		counts[result.Verdict]++
		if result.Missed {
			r.Missed++
		}
	}
	r.Passed, r.Failed, r.Lenient, r.NotRun = counts[Pass], counts[Fail], counts[Lenient], counts[NotRun]
	r.OK = r.Failed == 0 && r.Missed == 0 && r.Passed > 0
}

// WriteText writes the report as a table.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s %s, tool %q\n\n", r.Role, r.Peer, r.Tool)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, result := range r.Results {
		fmt.Fprintf(table, "%s\t§%d\t%s\t%s\n", result.Verdict, result.Section, result.Rule, termtext.Visible(result.Detail))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	sum := fmt.Sprintf("\n%d passed, %d failed, %d lenient, %d not run\n", r.Passed, r.Failed, r.Lenient, r.NotRun)
	if r.Missed > 0 {
		sum += fmt.Sprintf("no success: %d of %d rules had no connection or came too late\n", r.Missed, len(r.Results))
	}
	_, err := io.WriteString(w, sum)
	return err
}
