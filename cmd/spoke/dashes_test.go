package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

func TestLongFlagsTakeOneDashOrTwo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"a long flag":                         {"conformance -json", "conformance --json"},
		"one with its value":                  {"conformance -vectors=-a", "conformance --vectors=-a"},
		"help":                                {"keygen -help", "keygen --help"},
		"help of the root":                    {"-help", "--help"},
		"flags before the command":            {"connect -url ws://x -json ping -wire", "connect --url ws://x --json ping --wire"},
		"flags behind a URL":                  {"ping ws://x -json", "ping ws://x --json"},
		"flags before a tool":                 {"call -json ws://x -url -url", "call --json ws://x --url -url"},
		"completion of one":                   {"__complete call -url ws://x", "__complete call --url ws://x"},
		"a letter":                            {"ping -n -5 -h", "ping -n -5 -h"},
		"a letter with its value":             {"keygen -ohost", "keygen -ohost"},
		"a letter whose value is a flag":      {"keygen -o -json -json", "keygen -o -json --json"},
		"a value that is a flag":              {"bench --args -json -json", "bench --args -json --json"},
		"a value behind one dash":             {"bench -args -json -json", "bench --args -json --json"},
		"a flag of another command":           {"keygen -vectors", "keygen -vectors"},
		"what is no letter":                   {"keygen -é", "keygen -é"},
		"nothing behind the dash":             {"manifest check -", "manifest check -"},
		"what stands behind two dashes alone": {"conformance -- -json", "conformance -- -json"},
		"a tool's arguments":                  {"call tools.a.b -json -text -hello", "call tools.a.b -json -text -hello"},
		"a tool's arguments over a session":   {"connect -json call tools.a.b -json", "connect --json call tools.a.b -json"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, strings.Fields(c.want), doubleDashed(newRoot(), strings.Fields(c.line)))
		})
	}
}

func TestAFileMayBeNamedBehindTheLetter(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.Zero(t, spokeCommand(t, "keygen", "-ohost").status)
	assert.FileExists(t, "host")
}

func TestEveryHelpTextSpellsLongFlagsWithTwoDashes(t *testing.T) {
	t.Parallel()
	var judge func(cmd *cobra.Command)
	judge = func(cmd *cobra.Command) {
		assert.NotRegexp(t, `(^|[\s(`+"`"+`])-[a-z][a-z-]`, cmd.Short+"\n"+cmd.Long+"\n"+cmd.Example, cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			judge(sub)
		}
	}
	judge(newRoot())
}
