package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// callLine is the command line of a call.
type callLine struct {
	url, id  string
	rest     []string  // the arguments of the tool
	settings []setting // the connection's flags
	help     bool
}

// setting is a flag of the connection and its value.
type setting struct {
	name, value string
	// guess: it may be the value of the tool's flag before it instead.
	guess bool
}

// callReader tells the words of a call apart.
type callReader struct {
	known *pflag.FlagSet // the connection's
	tool  *pflag.FlagSet // nil as long as nobody knows them
	words []string       // still to be read
	line  callLine
	open  bool // the word before is a flag of the tool's that may take this one
}

// readCall tells the flags of the connection, wherever they stand, from the rest. As long
// as the tool's flags are not known, tool is nil, and what follows one of them and reads
// as a flag of the connection is guessed to be one.
func readCall(known, tool *pflag.FlagSet, words []string) (callLine, error) {
	r := &callReader{known: known, tool: tool, words: words}
	for len(r.words) > 0 {
		if err := r.word(r.next()); err != nil {
			return r.line, err
		}
	}
	return r.line, nil
}

func (r *callReader) next() string {
	word := r.words[0]
	r.words = r.words[1:]
	return word
}

// word reads one word and the value that belongs to it.
func (r *callReader) word(word string) error {
	name, value, inline := longFlag(word)
	flag := r.known.Lookup(name)
	switch {
	case r.ofTool(name):
		r.argument(name, word, inline)
		return nil
	case name == "help" || word == "-h":
		return r.help(value, inline)
	case name == "" || flag == nil:
		r.open = r.tool == nil && name != "" && !inline
		return r.take(word)
	case inline:
	case flag.NoOptDefVal != "":
		value = flag.NoOptDefVal
	case len(r.words) > 0:
		value = r.next()
	case r.open:
		r.open = false
		return r.take(word)
	default:
		return fmt.Errorf("flag needs an argument: --%s", name)
	}
	r.line.settings = append(r.line.settings, setting{name, value, r.open})
	r.open = false
	return nil
}

// help takes the flag for help, which may have a value.
func (r *callReader) help(value string, inline bool) (err error) {
	r.line.help, r.open = true, false
	if inline {
		if r.line.help, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("--help is true or false, not %q", value)
		}
	}
	return nil
}

func (r *callReader) ofTool(name string) bool {
	return name != "" && r.line.id != "" && r.tool != nil && r.tool.Lookup(name) != nil
}

// argument takes a flag of the tool's, with its value whatever that looks like.
func (r *callReader) argument(name, word string, inline bool) {
	r.line.rest = append(r.line.rest, "--"+strings.TrimLeft(word, "-"))
	if !inline && r.tool.Lookup(name).NoOptDefVal == "" && len(r.words) > 0 {
		r.line.rest = append(r.line.rest, r.next())
	}
}

// take adds a word that is not of the connection.
func (r *callReader) take(word string) error {
	c := &r.line
	switch {
	case c.id != "" && word == "--":
		c.rest = append(append(c.rest, word), r.words...)
		r.words = nil
	case c.id != "":
		c.rest = append(c.rest, word)
	case strings.HasPrefix(word, "-"):
		return fmt.Errorf("unknown flag %s: the arguments of a tool stand after its id", word)
	case c.url == "" && looksLikeURL(word):
		c.url = word
	default:
		c.id = word
	}
	return nil
}

// urlArgs is the URL as an argument list.
func (c callLine) urlArgs() []string {
	if c.url == "" {
		return nil
	}
	return []string{c.url}
}

// document is the word that holds all arguments as JSON, false when they are flags.
func (c callLine) document() (word string, ok bool) {
	if len(c.rest) != 1 {
		return "", false
	}
	name, _, _ := longFlag(c.rest[0])
	return c.rest[0], name == "" && c.rest[0] != "--"
}

// apply sets the connection's flags, and forgets a guess that makes no sense.
func (c *callLine) apply(known *pflag.FlagSet) (err error) {
	c.settings = slices.DeleteFunc(c.settings, func(s setting) bool {
		failure := known.Set(s.name, s.value)
		if !s.guess {
			err = cmp.Or(err, failure)
		}
		return failure != nil
	})
	return err
}

// settle reads the words again with the tool's flags, takes back what was guessed wrongly
// and returns the line as it was meant.
func (c callLine) settle(known, tool *pflag.FlagSet, words []string) (callLine, error) {
	meant, err := readCall(known, tool, words)
	if err != nil {
		return meant, err
	}
	for _, s := range c.settings {
		if !s.guess || slices.Contains(meant.settings, setting{name: s.name, value: s.value}) {
			continue
		}
		flag := known.Lookup(s.name)
		if flag.NoOptDefVal == "" {
			return meant, fmt.Errorf("--%s can be read as a value of the tool's flag before it or as a flag of the connection: write --FLAG=--%s for the value", s.name, s.name)
		}
		_ = flag.Value.Set(flag.DefValue) // it was that before
		flag.Changed = false
	}
	return meant, meant.apply(known)
}
