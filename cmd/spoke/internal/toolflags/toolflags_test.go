package toolflags_test

import (
	"encoding/json"
	"testing"

	"github.com/spf13/pflag"
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
	"pick":{"enum":["1","true","null",2,""]},
	"picks":{"type":"array","items":{"enum":["1",2]}},
	"word":{"type":"string","enum":["a",""]},
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
		"a word of the enum is a string":           {[]string{"--pick", "1"}, `{"pick":"1"}`},
		"also one that JSON has":                   {[]string{"--pick", "true"}, `{"pick":"true"}`},
		"also null":                                {[]string{"--pick", "null"}, `{"pick":"null"}`},
		"what else is in the enum is JSON":         {[]string{"--pick", "2"}, `{"pick":2}`},
		"the empty word has quotes":                {[]string{"--pick", `""`}, `{"pick":""}`},
		"the empty word as it is":                  {[]string{"--pick", ""}, `{"pick":""}`},
		"the empty word of a string":               {[]string{"--word", `""`}, `{"word":""}`},
		"a word of an item's enum is a string":     {[]string{"--picks", "1", "--picks", "2"}, `{"picks":["1",2]}`},
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
		{"--text", "caf\xe9"}, {"--odd", "\"caf\xe9\""}, {"--mode", "\xff"}, {"--tags", "\xe9"}, {"--where", "{\"\xe9\":1}"},
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

// object is a schema with these members.
func object(t testing.TB, schema string, names ...string) json.RawMessage {
	t.Helper()
	members := make(map[string]json.RawMessage, len(names))
	for _, name := range names {
		members[name] = json.RawMessage(schema)
	}
	text, err := json.Marshal(map[string]any{"properties": members})
	require.NoError(t, err)
	return text
}

func reserved(name string) bool { return name == "url" || name == "arg-arg-url" }

func TestMembersWithCollidingNamesHaveFlagsOfTheirOwn(t *testing.T) {
	for name, c := range map[string]struct{ member, flag string }{
		"its own name goes before a prefixed one": {"arg-url", "arg-url"},
		"a prefix is put until the name is free":  {"url", "arg-arg-arg-url"},
		"an equals sign":                          {"a=b", "arg-a-b"},
		"a dash at the start":                     {"--a", "arg-a"},
		"a line break":                            {"a\nb", "arg-a b"},
		"what a terminal would obey":              {"\x1b]0;x\u009c\u009b2J", "arg-]0;x 2J"},
		"no name at all":                          {"", "arg-"},
		"nothing that can be written":             {"\x1b", "arg-arg-"},
	} {
		t.Run(name, func(t *testing.T) {
			set := toolflags.New(object(t, `{"type":"string"}`,
				"url", "arg-url", "a=b", "--a", "a\nb", "\x1b]0;x\u009c\u009b2J", "", "\x1b"), reserved)
			require.NoError(t, set.Flags.Parse([]string{"--" + c.flag + "=x"}))
			got, err := set.Arguments()
			require.NoError(t, err)
			want, err := json.Marshal(map[string]string{c.member: "x"})
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))
		})
	}
}

func FuzzEveryMemberHasAFlagOfItsOwn(f *testing.F) {
	f.Add("url", "arg-url", "arg-arg-url")
	f.Add("a=b", "a-b", "arg-a-b")
	f.Add("", "-", "\x00")
	f.Add("\u009b", "a`b", "arg-")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		input := object(t, `{"type":"string"}`, a, b, c)
		var schema struct{ Properties map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal(input, &schema))
		set := toolflags.New(input, reserved)
		var words []string
		set.Flags.VisitAll(func(f *pflag.Flag) {
			assert.False(t, reserved(f.Name))
			assert.NotRegexp(t, `[\x00-\x1f\x{7f}-\x{9f}]`, f.Name)
			words = append(words, "--"+f.Name+"=x")
		})
		require.NoError(t, set.Flags.Parse(words))
		text, err := set.Arguments()
		require.NoError(t, err)
		var got map[string]string
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Len(t, got, len(schema.Properties))
		for name := range schema.Properties {
			assert.Equal(t, "x", got[name])
		}
	})
}

func FuzzFlagsOfAnySchema(f *testing.F) {
	f.Add(input, "slow")
	f.Add(`{"properties":{"url":7,"a":{"enum":7,"items":[]},"b":{"enum":[null,[]],"type":"array","items":{"enum":[{}]}}}}`, "null")
	f.Add(`{"properties":{"a":{"type":[7],"enum":[""],"default":null,"description":{}}}}`, `""`)
	f.Fuzz(func(t *testing.T, input, value string) {
		set := toolflags.New(json.RawMessage(input), reserved)
		assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x{7f}-\x{9f}]`, set.Flags.FlagUsages())
		set.Flags.VisitAll(func(f *pflag.Flag) {
			for _, choice := range set.Choices(f.Name) {
				assert.NotRegexp(t, `[\x00-\x1f\x{7f}-\x{9f}]`, choice)
			}
			_ = f.Value.Set(value) // may be refused
		})
		text, err := set.Arguments()
		require.NoError(t, err)
		assert.True(t, json.Valid(text))
	})
}

const hostile = "\x1b]0;owned\a\u009b2J\u0085\x7f"

func TestWhatTheSchemaSaysCannotWriteToTheTerminal(t *testing.T) {
	text, err := json.Marshal(hostile)
	require.NoError(t, err)
	schema := `{"enum":[` + string(text) + `,"a\tb","a\nb",{"x":` + string(text) + `},"` + "`q`" + `"],"default":` + string(text) + `}`
	set := toolflags.New(object(t, schema, hostile, "x"), reserved)
	assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x{7f}-\x{9f}]`, set.Flags.FlagUsages())
	assert.Contains(t, set.Flags.FlagUsages(), `--x JSON`)
	assert.Equal(t, []string{"`q`"}, set.Choices("x"))
}

func TestAChoiceIsOfferedAsItIsTyped(t *testing.T) {
	set := toolflags.New(object(t, `{"enum":[{ "a" : 1 },"",7]}`, "x"), reserved)
	assert.Equal(t, []string{`{"a":1}`, `""`, "7"}, set.Choices("x"))
}

func TestASchemaThatSaysNothingHasNoFlags(t *testing.T) {
	for _, text := range []string{`{}`, `true`, `{"properties":7}`, `{"properties":[]}`, ``} {
		assert.False(t, toolflags.New(json.RawMessage(text), nil).Flags.HasFlags(), text)
	}
}
