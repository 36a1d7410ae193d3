package termtext_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/termtext"
)

func TestALineHasNoControlCharacters(t *testing.T) {
	assert.Equal(t, "a b c", termtext.Line("a\u202eb\u2066\u061cc"))
	assert.Equal(t, "a b [31m 2J é", termtext.Line(" a\nb\x1b[31m\u009b2J\u0085\x7f é"))
}

func TestWhatCommandsATerminalBecomesVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain é 𝄞 'quoted' \\":       "plain é 𝄞 'quoted' \\",
		"\x1b]0;x\a\t\r\n\x7f":        `\x1b]0;x\a\t\r\n\x7f`,
		"\u0085\u009b2J":              `\u0085\u009b2J`,
		"a\u202eb\u2066c\u061c\u200f": `a\u202eb\u2066c\u061c\u200f`,
		"\x9b2J\xff":                  "\ufffd2J\ufffd",
	} {
		assert.Equal(t, want, termtext.Visible(text))
	}
}

func TestControlCharactersOfJSONAreEscaped(t *testing.T) {
	const text = "{\n\t\"a\u009b2J\": \"\u0080\u0085\u009f\x7f\u00a0é𝄞\"\n}"
	assert.Equal(t, "{\n\t\"a\\u009b2J\": \"\\u0080\\u0085\\u009f\\u007f\u00a0é𝄞\"\n}", string(termtext.JSON([]byte(text))))
	assert.Equal(t, `"a\u202eb\u2069"`, string(termtext.JSON([]byte("\"a\u202eb\u2069\""))))
	assert.Equal(t, "\"\ufffd2J\"", string(termtext.JSON([]byte("\"\x9b2J\""))))
}

func FuzzJSONMeansTheSameWithoutControlCharacters(f *testing.F) {
	f.Add("a\u009bb\x7f")
	f.Add("\x1b\n\\\u0085")
	f.Add("\x9b")
	f.Add("\u202e\u2069")
	f.Fuzz(func(t *testing.T, value string) {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		clean := termtext.JSON(text)
		assert.NotRegexp(t, `[\x00-\x1f\x{7f}-\x{9f}\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`, string(clean))
		var want, got string
		require.NoError(t, json.Unmarshal(text, &want))
		require.NoError(t, json.Unmarshal(clean, &got))
		assert.Equal(t, want, got)
	})
}
