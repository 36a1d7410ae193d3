package transcript

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// Report is what [Replay] found. It is plain data and encodes to JSON.
type Report struct {
	// OK: every envelope verifies but those that carry no signature, those that were
	// signed again match, and there are no strangers.
	OK bool `json:"ok"`
	// Signed counts the envelopes whose signature verifies, Resigned those that were
	// signed again, Matched those of them that gave the same bytes.
	Signed   int `json:"signed"`
	Resigned int `json:"resigned"`
	Matched  int `json:"matched"`
	// Unsigned counts the frames that carry no signature and stand where they can.
	Unsigned int `json:"unsigned"`
	// Strangers are the given identities that are neither peer's: nothing was signed
	// again with them.
	Strangers []connect.PeerID `json:"strangers,omitempty"`
	Lines     []Line           `json:"lines"`
}

// Line is one frame of the transcript.
type Line struct {
	N    int    `json:"line"`
	From string `json:"from"`
	// Name says what the envelope is, such as "request 3 port.knowledge.get".
	Name string `json:"name"`
	// Signed: the signature verifies and the envelope stands where it can.
	Signed bool `json:"signed"`
	// Unsigned: the frame is a challenge or its answer, which carry no signature, and
	// stands where it can.
	Unsigned bool `json:"unsigned,omitempty"`
	// Resigned: the sender's key was given and the envelope was signed again.
	Resigned bool `json:"resigned"`
	// Difference is where that differs, nil when it does not.
	Difference *Difference `json:"difference,omitempty"`
	// Problem says what is wrong, "" for nothing.
	Problem string `json:"problem,omitempty"`
}

// Difference is the first byte in which a recorded envelope and the same one signed
// again differ, counted in their canonical texts without extensions.
type Difference struct {
	Byte     int    `json:"byte"`
	Recorded string `json:"recorded"`
	Signed   string `json:"signed"`
}

func (r *Report) add(l Line) {
	r.Lines = append(r.Lines, l)
	if l.Signed {
		r.Signed++
	}
	if l.Unsigned {
		r.Unsigned++
	}
	if l.Resigned {
		r.Resigned++
		if l.Problem == "" {
			r.Matched++
		}
	}
}

func (r *Report) finish() {
	r.OK = r.Signed+r.Unsigned == len(r.Lines) && r.Matched == r.Resigned && len(r.Strangers) == 0
}

// WriteText writes the report as a table.
func (r *Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range r.Lines {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", l.N, l.From, l.verdict(), termtext.Visible(l.Name))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, l := range r.Lines {
		if l.Problem != "" {
			fmt.Fprintf(w, "\nFAIL line %d, %s of the %s: %s\n", l.N, termtext.Visible(l.Name), l.From, termtext.Visible(l.Problem))
		}
	}
	for _, peer := range r.Strangers {
		fmt.Fprintf(w, "\nFAIL the key of %s belongs to no peer of this transcript\n", peer)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d envelopes verify; %d of %d match when signed again\n", r.Signed, len(r.Lines)-r.Unsigned, r.Matched, r.Resigned)
	return err
}

func (l Line) verdict() string {
	switch {
	case l.Problem != "":
		return "FAIL"
	case l.Unsigned:
		return "carries no signature"
	case l.Resigned:
		return "verifies, matches"
	default:
		return "verifies"
	}
}
