package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// output is how a command prints: data to Out, everything else to Err.
type output struct {
	json bool
	out  io.Writer
	err  io.Writer
}

func (o *output) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.json, "json", false, "print JSON, one value a line")
}

// of binds the output to the command that runs.
func (o *output) of(cmd *cobra.Command) { o.out, o.err = cmd.OutOrStdout(), cmd.ErrOrStderr() }

// line prints a value as one line of JSON.
func (o *output) line(value any) error {
	text, err := oneLine(value)
	if err != nil {
		return err
	}
	_, err = o.out.Write(append(text, '\n'))
	return err
}

// oneLine is a value as JSON that a terminal can show.
func oneLine(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return termtext.JSON(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}

// document prints a JSON text: as one line, or indented for people.
func (o *output) document(text json.RawMessage) error {
	if o.json {
		return o.line(text)
	}
	_, err := fmt.Fprintf(o.out, "%s\n", indented(text))
	return err
}

// indented returns a JSON text for people, other text in quotes.
func indented(text []byte) []byte {
	var pretty bytes.Buffer
	if json.Indent(&pretty, text, "", "  ") != nil {
		return strconv.AppendQuote(nil, string(text))
	}
	return termtext.JSON(pretty.Bytes())
}

// table prints rows under a head.
func (o *output) table(head []string, rows [][]string) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	first, rest, _ := strings.Cut(text.String(), "\n")
	var lines strings.Builder
	lines.WriteString(paint(o.out, bold, strings.TrimRight(first, " ")) + "\n")
	for line := range strings.Lines(rest) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(o.out, lines.String())
	return err
}

// facts prints names and values, a pair a line; as JSON one object.
func (o *output) facts(pairs ...[2]string) error {
	if o.json {
		object := make(map[string]string, len(pairs))
		for _, pair := range pairs {
			object[strings.ReplaceAll(pair[0], " ", "_")] = pair[1]
		}
		return o.line(object)
	}
	var text bytes.Buffer // so that who reads along sees all of it at once
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, pair := range pairs {
		fmt.Fprintf(w, "%s\t%s\n", pair[0], termtext.Line(pair[1]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := o.out.Write(text.Bytes())
	return err
}

// Colours, as the parameters of a terminal's escape sequence.
const (
	bold  = "1"
	red   = "31"
	green = "32"
)

// paint colours text for a terminal, and only there.
func paint(w io.Writer, colour, text string) string {
	if !colourful(w) {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func colourful(w io.Writer) bool {
	if s, ok := w.(*shared); ok {
		w = s.Writer
	}
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// patience is how long something may take without a word.
const patience = time.Second

// slow says on w what is being waited for, once it takes longer than patience. The
// caller calls done when it is over; nothing is written after that.
func slow(w io.Writer, what string) (done func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-time.After(patience):
			fmt.Fprintf(w, "%s ...\n", what)
		case <-over:
		}
	}()
	return func() { close(over); <-gone }
}

// progress says on w each second how far something is, if it is any further, until stop
// returns.
func progress(w io.Writer, far func() string) (stop func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(patience)
		defer ticker.Stop()
		said := ""
		for {
			select {
			case <-ticker.C:
				if now := far(); now != said {
					fmt.Fprintln(w, now)
					said = now
				}
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-gone }
}

// complain prints a line to stderr.
func (o *output) complain(text string) error {
	_, err := fmt.Fprintln(o.err, "spoke:", termtext.Line(text))
	return err
}
