package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// doubleDashed lets long flags be written with one dash, as the go command's are. It
// leaves values alone, and what stands after the id of a tool: readCall knows about that.
func doubleDashed(root *cobra.Command, words []string) []string {
	out, cmd := slices.Clone(words), withFlags(root)
	for i := 0; i < len(out); i++ {
		if out[i] == "--" {
			return out
		}
		if strings.HasPrefix(out[i], "-") {
			var takes bool
			if out[i], takes = doubled(cmd.Flags(), out[i]); takes {
				i++
			}
			continue
		}
		child := childOf(cmd, out[i])
		switch {
		case child != nil:
			cmd = withFlags(child)
		case cmd.DisableFlagParsing && !isURL(out[i]):
			return out
		}
	}
	return out
}

// withFlags returns a command that has the flags that cobra gives it when it runs.
func withFlags(cmd *cobra.Command) *cobra.Command {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	return cmd
}

func childOf(cmd *cobra.Command, name string) *cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Name() == name || child.HasAlias(name) {
			return child
		}
	}
	return nil
}

// doubled is a flag with two dashes if it is a long one, and tells whether its value is
// the next word.
func doubled(flags *pflag.FlagSet, word string) (text string, takes bool) {
	name, _, inline := longFlag(word)
	if flag := flags.Lookup(name); name != "" && flag != nil {
		return "--" + strings.TrimLeft(word, "-"), !inline && flag.NoOptDefVal == ""
	}
	if strings.HasPrefix(word, "--") {
		return word, false
	}
	letters := word[1:]
	for i := range len(letters) {
		switch flag := flags.ShorthandLookup(letters[i : i+1]); {
		case flag == nil:
			return word, false
		case flag.NoOptDefVal == "":
			return word, i+1 == len(letters)
		}
	}
	return word, false
}

// longFlag splits a word that can be a long flag, with two dashes or, from two letters
// on, with one. The name is "" for any other word.
func longFlag(word string) (name, value string, inline bool) {
	text, two := strings.CutPrefix(word, "--")
	if !two {
		text, _ = strings.CutPrefix(word, "-")
	}
	name, value, inline = strings.Cut(text, "=")
	if text == word || strings.HasPrefix(name, "-") || !two && len(name) < 2 {
		return "", "", false
	}
	return name, value, inline
}
