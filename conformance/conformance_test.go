package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// embedded returns a copy of the embedded files that a test may change.
func embedded(t testing.TB) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(vectors.Files(), "*.json")
	require.NoError(t, err)
	files := fstest.MapFS{}
	for _, name := range names {
		data, err := vectors.Read(name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

// few is a set of two files and their index.
func few(t testing.TB) fstest.MapFS {
	t.Helper()
	all := embedded(t)
	return fstest.MapFS{
		"dispatch.json": all["dispatch.json"], "tool_ids.json": all["tool_ids.json"],
		vectors.IndexName: {Data: []byte(`{"format":1,"groups":{"dispatch":{"cases":12},"tool_ids":{"cases":23}}}`)},
	}
}

func textOf(t testing.TB, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func TestTheLibraryDoesWhatTheEmbeddedVectorsSay(t *testing.T) {
	report := Run(t.Context(), vectors.Files(), Options{})
	assert.True(t, report.OK, "%s", textOf(t, report))
	assert.Equal(t, report.Total, report.Passed)
	index, err := vectors.ReadIndex(vectors.Files())
	require.NoError(t, err)
	require.Len(t, report.Groups, len(index.Groups))
	for _, g := range report.Groups {
		if groups[g.Name] == nil {
			assert.Equal(t, NotRun, g.Status, g.Name)
			continue
		}
		assert.Equal(t, Passed, g.Status, g.Name)
		assert.Equal(t, g.Total, g.Passed, g.Name)
		assert.Positive(t, g.Total, g.Name)
	}
}

func TestEveryGroupOfTheRunnerHasVectors(t *testing.T) {
	for name, lists := range groups {
		file, err := vectors.Open(vectors.Files(), name+".json")
		require.NoError(t, err)
		for list := range lists {
			assert.NotEmpty(t, file.Cases(list), "%s %s", name, list)
		}
	}
}

// outcomes are, for each list, how a case is changed so that it says something else.
var outcomes = map[string]func(c map[string]any){
	"jcs cases": flip("jcs_hex"), "key_order cases": flip("jcs_hex"), "escapes cases": flip("jcs_hex"),
	"numbers doubles": flip("text"), "numbers texts": flip("text"),
	"identity cases": flip("peer_id"), "identity not_peer_ids": put("peer_id", "12D3KooWEfrNcYnd2HAbgsfjGxqn6Dcu6NwwQF5g4TjBmGdtmLTy"),
	"tool_ids cases": flip("ok"), "manifest_tools cases": flip("result"), "tool_arguments cases": flip("result"), "roll_dice cases": flip("result"),
	"hello sign": flip("jcs_hex"), "hello verify": flip("result"),
	"envelope sign": flip("envelope"), "envelope verify": flip("result"),
	"payloads sign": flip("jcs_hex"), "payloads verify": flip("result"),
	"ports cases": put("requires", "another-capability"), "ports sign": flip("jcs_hex"),
	"dispatch cases":        func(c map[string]any) { c["required"] = "another-capability" },
	"token verify":          flip("result"),
	"token issue":           otherToken,
	"router cases":          flip("result"),
	"toy_world descriptors": put("jcs_hex", "7b7d"), "toy_world hello": flip("signature"), "toy_world session": flip("jcs_hex"),
	"sequence cases":     func(c map[string]any) { last(c, "steps")["answer"] = "another" },
	"echo cases":         flip("result"),
	"probe cases":        put("sends", []any{"tools.spoke.probe", "tools.spoke.probe"}),
	"negotiation cases":  func(c map[string]any) { c["negotiated"] = []any{"another-capability"} },
	"nonce_replay cases": func(c map[string]any) { last(c, "hellos")["code"] = "another" },
}

// otherToken expects a token that is not issued, or another one than is.
func otherToken(c map[string]any) {
	if c["error"] != nil {
		delete(c, "error")
		return
	}
	flip("sig")(c["proof"].(map[string]any))
}

func put(name string, value any) func(map[string]any) {
	return func(c map[string]any) { c[name] = value }
}

func last(c map[string]any, list string) map[string]any {
	items := c[list].([]any)
	return items[len(items)-1].(map[string]any)
}

// flip changes what a case expects: the last letter of a text, or whether it succeeds.
func flip(name string) func(map[string]any) {
	return func(c map[string]any) {
		switch v := c[name].(type) {
		case string:
			final := "0"
			if strings.HasSuffix(v, final) {
				final = "1"
			}
			c[name] = v[:len(v)-1] + final
		case bool:
			c[name] = !v
		case map[string]any:
			if signature, ok := v["signature"].(string); ok {
				v["signature"] = "AA" + signature[2:]
				return
			}
			v["ok"] = v["ok"] != true
		default: // an input that is refused: say that it has a canonical form
			delete(c, "error")
			c[name] = "00"
		}
	}
}

func TestACaseThatSaysSomethingElseFails(t *testing.T) {
	for name, lists := range groups {
		file, err := vectors.Open(vectors.Files(), name+".json")
		require.NoError(t, err)
		for list, check := range lists {
			change := outcomes[name+" "+list]
			require.NotNil(t, change, "%s %s", name, list)
			for i, text := range file.Cases(list) {
				var c map[string]any
				require.NoError(t, json.Unmarshal(text, &c))
				change(c)
				changed, err := json.Marshal(c)
				require.NoError(t, err)
				assert.Error(t, runCase(t.Context(), file, changed, check), "%s %s[%d]: %s", name, list, i, changed)
			}
		}
	}
}

func TestAFileThatIsMissingOrShrunkenFails(t *testing.T) {
	for name, change := range map[string]func(files fstest.MapFS){
		"a file is missing": func(files fstest.MapFS) { delete(files, "tool_ids.json") },
		"a file has lost a case": func(files fstest.MapFS) {
			text := string(files["dispatch.json"].Data)
			cut := strings.LastIndex(text, ",\n  {")
			files["dispatch.json"] = &fstest.MapFile{Data: []byte(text[:cut] + "]}")}
		},
		"a file has lost a case and counts the rest": func(files fstest.MapFS) {
			files["dispatch.json"] = &fstest.MapFile{Data: []byte(`{"format":1,"group":"dispatch","rule":"r","count":{"cases":1},"cases":[{"op":"check","required":"spoke-baseline"}]}`)}
		},
		"a file that no index lists": func(files fstest.MapFS) {
			files["new.json"] = &fstest.MapFile{Data: []byte(`{"format":1,"group":"new","rule":"r","count":{"cases":1},"cases":[{}]}`)}
		},
		"the index cannot be read": func(files fstest.MapFS) {
			files[vectors.IndexName] = &fstest.MapFile{Data: []byte(`{`)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := few(t)
			require.True(t, Run(t.Context(), files, Options{}).OK)
			change(files)
			report := Run(t.Context(), files, Options{})
			assert.False(t, report.OK)
			assert.Contains(t, textOf(t, report), "FAILED")
		})
	}
}

func TestADirectoryWithoutAnIndexIsHeldToItsHeaders(t *testing.T) {
	files := fstest.MapFS{"dispatch.json": embedded(t)["dispatch.json"]}
	report := Run(t.Context(), files, Options{})
	assert.True(t, report.OK, "%s", textOf(t, report))
	assert.Equal(t, 12, report.Passed)
}

func TestAnUnknownGroupIsNotRunAndRunningNothingFails(t *testing.T) {
	unknown := &fstest.MapFile{Data: []byte(`{"format":1,"group":"made_up","rule":"r","count":{"cases":1},"cases":[{}]}`)}
	report := Run(t.Context(), fstest.MapFS{"made_up.json": unknown}, Options{})
	assert.False(t, report.OK)
	assert.Equal(t, NotRun, report.Groups[0].Status)
	assert.Equal(t, []string{"nothing was run"}, report.Problems)

	report = Run(t.Context(), fstest.MapFS{"made_up.json": unknown, "dispatch.json": embedded(t)["dispatch.json"]}, Options{})
	assert.True(t, report.OK)
	assert.Contains(t, textOf(t, report), "not run")

	for name, files := range map[string]fs.FS{"no files": fstest.MapFS{}, "no vector files": fstest.MapFS{"a.txt": unknown}} {
		assert.False(t, Run(t.Context(), files, Options{}).OK, name)
	}
}

func TestAListThatTheRunnerDoesNotKnowFails(t *testing.T) {
	text := `{"format":1,"group":"dispatch","rule":"r","count":{"made_up":1},"made_up":[{}]}`
	report := Run(t.Context(), fstest.MapFS{"dispatch.json": {Data: []byte(text)}}, Options{})
	assert.False(t, report.OK)
	assert.Equal(t, Failed, report.Groups[0].Status)
}

func TestGroupsCanBeChosen(t *testing.T) {
	report := Run(t.Context(), vectors.Files(), Options{Groups: []string{"jcs", "tool_ids"}})
	assert.True(t, report.OK)
	require.Len(t, report.Groups, 2)
	report = Run(t.Context(), vectors.Files(), Options{Groups: []string{"jcs", "made_up"}})
	assert.False(t, report.OK)
	assert.Equal(t, []string{"no vectors for group made_up"}, report.Problems)
}

func TestAFailureNamesItsVectorAndBothSides(t *testing.T) {
	text := `{"format":1,"group":"tool_ids","rule":"r","count":{"cases":2},"cases":[{"id":"tools.a.b","ok":true,"namespace":"a","tool_id":"c","name":"a wrong part"},{"id":"tools.a.b","ok":false}]}`
	report := Run(t.Context(), fstest.MapFS{"tool_ids.json": {Data: []byte(text)}}, Options{})
	require.Len(t, report.Groups[0].Failures, 2)
	assert.Equal(t, Failure{"tool_ids cases[0]: a wrong part", `parts "a c"`, `parts "a b" (first difference at byte 2)`}, report.Groups[0].Failures[0])
	assert.Equal(t, "tool_ids cases[1]", report.Groups[0].Failures[1].Vector)
	assert.Contains(t, textOf(t, report), "FAIL tool_ids cases[0]: a wrong part\n  expected  parts \"a c\"\n")
	encoded, err := json.Marshal(report)
	require.NoError(t, err)
	assert.Contains(t, string(encoded), `"status":"failed"`)
}

func TestAPanicOfTheCodeUnderTestIsAFailure(t *testing.T) {
	file, err := vectors.Open(vectors.Files(), "jcs.json")
	require.NoError(t, err)
	err = runCase(t.Context(), file, json.RawMessage(`{}`), each(func(context.Context, struct{}) error { panic("boom") }))
	require.ErrorContains(t, err, "boom")
	require.Error(t, runCase(t.Context(), file, json.RawMessage(`[`), each(checkCanonical)), "a case that cannot be read")
}

func TestACanceledRunFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report := Run(ctx, vectors.Files(), Options{Groups: []string{"sequence"}})
	assert.False(t, report.OK)
}

func TestLongTextsAreShownAroundTheFirstDifference(t *testing.T) {
	long := strings.Repeat("a", 500)
	err := sameText("text", long+"b"+long, long+"c"+long)
	var m *mismatch
	require.ErrorAs(t, err, &m)
	assert.Contains(t, m.expected, "ab")
	assert.Contains(t, m.got, "first difference at byte 500")
	assert.Less(t, len(m.got), 250)
}

func TestAnErrorSaysWhereInACaseItCameUp(t *testing.T) {
	err := within(fmt.Errorf("wrapped: %w", &mismatch{"a", "b"}), "step %d", 2)
	assert.Equal(t, Failure{"v", "a", "b (step 2)"}, failureOf("v", err))
	err = within(within(&mismatch{"a", "b"}, "step %d", 1), "as %s", dialerRole)
	assert.Equal(t, Failure{"v", "a", "b (step 1) (as dialer)"}, failureOf("v", err))
	err = within(context.Canceled, "step %d", 3)
	assert.EqualError(t, err, "step 3: context canceled")
	assert.ErrorIs(t, err, context.Canceled)
}
