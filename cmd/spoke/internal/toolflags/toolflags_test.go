package toolflags_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/toolflags"
)

const input = `{"type":"object","required":["text"],"properties":{
	"text":{"type":"string","description":"what\u001b[31m to ` + "`say`" + `"},
	"n":{"type":["integer","null"],"default":3},
	"loud":{"type":"boolean"},
	"mode":{"enum":["slow","fast",7]},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}},
	"where":{"type":"object"},
	"url":{"type":"string"},
	"odd":true}}`

func flags() *toolflags.Set {
	return toolflags.New(json.RawMessage(input), func(name string) bool { return name == "url" })
}

func TestFlagsBecomeTheArgumentsTheyName(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing is an empty object":               {nil, `{}`},
		"a string stands for itself":               {[]string{"--text", "7"}, `{"text":"7"}`},
		"a number is one":                          {[]string{"--n=-4"}, `{"n":-4}`},
		"null where the schema has it":             {[]string{"--n", "null"}, `{"n":null}`},
		"a boolean needs no value":                 {[]string{"--loud"}, `{"loud":true}`},
		"a boolean can be false":                   {[]string{"--loud=false"}, `{"loud":false}`},
		"an array takes a flag for each item":      {[]string{"--tags", "a", "--tags", "b"}, `{"tags":["a","b"]}`},
		"an array takes a JSON array":              {[]string{"--tags", `["a","b"]`}, `{"tags":["a","b"]}`},
		"an object is JSON":                        {[]string{"--where", `{"x":1}`}, `{"where":{"x":1}}`},
		"any type is JSON if it is":                {[]string{"--mode", "7"}, `{"mode":7}`},
		"any type is a string otherwise":           {[]string{"--mode", "slow"}, `{"mode":"slow"}`},
		"a reserved name has a prefix":             {[]string{"--arg-url", "x"}, `{"url":"x"}`},
		"a member whose schema is true takes JSON": {[]string{"--odd", "[1]"}, `{"odd":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			set := flags()
			require.NoError(t, set.Flags.Parse(c.args))
			got, err := set.Arguments()
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(got))
		})
	}
}

func TestValuesOfAnotherTypeAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--n", "three"}, {"--n", `"3"`}, {"--n", ""}, {"--loud=7"}, {"--where", "[]"}, {"--where", "{"}, {"--url", "x"}, {"--made-up", "x"},
	} {
		assert.Error(t, flags().Flags.Parse(args), "%v", args)
	}
}

func TestHelpTellsWhatTheSchemaSays(t *testing.T) {
	usages := flags().Flags.FlagUsages()
	assert.Regexp(t, `--text string +what \[31m to 'say' \(required\)`, usages)
	assert.Regexp(t, `--n int +\(default 3\)`, usages)
	assert.Regexp(t, `--mode JSON +\(one of slow, fast, 7\)`, usages)
	assert.NotContains(t, usages, "\x1b")
}

func TestChoicesComeFromEnums(t *testing.T) {
	assert.Equal(t, []string{"slow", "fast", "7"}, flags().Choices("mode"))
	assert.Equal(t, []string{"a", "b"}, flags().Choices("tags"))
	assert.Equal(t, []string{"true", "false"}, flags().Choices("loud"))
	assert.Empty(t, flags().Choices("text"))
	assert.Empty(t, flags().Choices("made-up"))
}

func TestASchemaThatSaysNothingHasNoFlags(t *testing.T) {
	for _, text := range []string{`{}`, `true`, `{"properties":7}`, `{"properties":[]}`, ``} {
		assert.False(t, toolflags.New(json.RawMessage(text), nil).Flags.HasFlags(), text)
	}
}
