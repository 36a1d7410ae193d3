package vectors_test

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

func TestEveryEmbeddedFileKeepsTheFormatAndTheIndexListsIt(t *testing.T) {
	index, err := vectors.ReadIndex(vectors.Files())
	require.NoError(t, err)
	names, err := fs.Glob(vectors.Files(), "*.json")
	require.NoError(t, err)
	assert.ElementsMatch(t, append(index.Names(), vectors.IndexName), names)
	for _, name := range index.Names() {
		file, err := vectors.Open(vectors.Files(), name)
		require.NoError(t, err)
		assert.NoError(t, index.Check(file))
		assert.NotEmpty(t, file.About, name)
		assert.Positive(t, file.Total(), name)
	}
}

func TestAFileMustBeWhatItsHeaderSays(t *testing.T) {
	const good = `{"format":1,"group":"g","rule":"r","about":"a","count":{"cases":2},"cases":[1,2]}`
	for name, c := range map[string]struct{ text, reason string }{
		"a file that keeps the format":  {good, ""},
		"a file that has lost a case":   {`{"format":1,"group":"g","rule":"r","count":{"cases":2},"cases":[1]}`, "has 1 cases, the header counts 2"},
		"a file with a case too many":   {`{"format":1,"group":"g","rule":"r","count":{"cases":1},"cases":[1,2]}`, "has 2 cases, the header counts 1"},
		"a list that is empty":          {`{"format":1,"group":"g","rule":"r","count":{"cases":0},"cases":[]}`, "has 0 cases"},
		"a list that is missing":        {`{"format":1,"group":"g","rule":"r","count":{"cases":1}}`, `list "cases"`},
		"a list that is no list":        {`{"format":1,"group":"g","rule":"r","count":{"cases":1},"cases":{}}`, `list "cases"`},
		"a later format":                {`{"format":2,"group":"g","rule":"r","count":{"cases":1},"cases":[1]}`, "format 2, want 1"},
		"a file without a header":       {`{"cases":[1]}`, "format 0, want 1"},
		"another group than its name's": {`{"format":1,"group":"h","rule":"r","count":{"cases":1},"cases":[1]}`, `group "g", its header says "h"`},
		"a file without a rule":         {`{"format":1,"group":"g","count":{"cases":1},"cases":[1]}`, "no rule"},
		"a file without a count":        {`{"format":1,"group":"g","rule":"r","cases":[1]}`, "no count"},
		"a truncated file":              {good[:len(good)-1], "unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := vectors.Open(fstest.MapFS{"g.json": {Data: []byte(c.text)}}, "g.json")
			if c.reason != "" {
				require.ErrorContains(t, err, c.reason)
				return
			}
			require.NoError(t, err)
			assert.Len(t, file.Cases("cases"), 2)
			assert.Equal(t, []string{"cases"}, file.Lists())
		})
	}
	_, err := vectors.Open(fstest.MapFS{}, "g.json")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestTheIndexNoticesAFileThatShrankTogetherWithItsCount(t *testing.T) {
	files := fstest.MapFS{
		vectors.IndexName: {Data: []byte(`{"format":1,"groups":{"g":{"cases":2}}}`)},
		"g.json":          {Data: []byte(`{"format":1,"group":"g","rule":"r","count":{"cases":1},"cases":[1]}`)},
		"h.json":          {Data: []byte(`{"format":1,"group":"h","rule":"r","count":{"cases":1},"cases":[1]}`)},
	}
	index, err := vectors.ReadIndex(files)
	require.NoError(t, err)
	for name, reason := range map[string]string{"g.json": "the index map[cases:2]", "h.json": "does not list this group"} {
		file, err := vectors.Open(files, name)
		require.NoError(t, err)
		assert.ErrorContains(t, index.Check(file), reason)
	}
	for _, text := range []string{``, `{}`, `{"format":1,"groups":{}}`, `{"format":9,"groups":{"g":{"cases":2}}}`} {
		_, err := vectors.ReadIndex(fstest.MapFS{vectors.IndexName: {Data: []byte(text)}})
		assert.Error(t, err, "%q", text)
	}
}

func TestLoadRefusesWhatIsNotThere(t *testing.T) {
	var v any
	require.ErrorIs(t, vectors.Load("nothing.json", &v), fs.ErrNotExist)
	var wrong []int
	require.Error(t, vectors.Load("jcs.json", &wrong))
}

func ExampleOpen() {
	file, err := vectors.Open(vectors.Files(), "key_order.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.Rule)
	fmt.Println(file.About)
	fmt.Println(len(file.Cases("cases")) == file.Count["cases"])
	// Output:
	// wire spec, section 3
	// members are sorted by the UTF-16 code units of their names, at every level
	// true
}

func ExampleLoad() {
	var file struct {
		Doubles []struct {
			Bits string `json:"bits_hex"`
			Text string `json:"text"`
		} `json:"doubles"`
	}
	if err := vectors.Load("numbers.json", &file); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.Doubles[2].Bits, file.Doubles[2].Text)
	// Output: 0000000000000001 5e-324
}
