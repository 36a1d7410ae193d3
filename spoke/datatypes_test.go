package spoke_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/internal/shape"
	"github.com/spoke-peer/spoke-go/internal/shared"
	"github.com/spoke-peer/spoke-go/spoke"
)

// dataType is one type with what the tests do to it.
type dataType struct {
	full      string // every member that the type declares
	decode    func(text string) error
	roundTrip func(t *testing.T, text string) string
	zero      func() ([]byte, error)
}

func typeOf[T any](full string) dataType {
	return dataType{
		full: full,
		decode: func(text string) error {
			var v T
			return json.Unmarshal([]byte(text), &v)
		},
		roundTrip: roundTrip[T],
		zero: func() ([]byte, error) {
			var v T
			return json.Marshal(v)
		},
	}
}

const fullAnchor = `{"schema_version":1,"source_id":"m:1","span":{"start":1.5,"end":2},"label":"l","mime_type":"text/plain","extensions":{"a":{}}}`

const fullRule = `{"schema_version":1,"rule_id":"r","canonical_name":"n","kind":"rule","statement":"s","description":"d",
	"target_entry_types":["x"],"severity_hint":"info","source_anchor":` + fullAnchor + `,"status":"active",
	"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05.678+02:00","extensions":{}}`

const fullFinding = `{"schema_version":1,"finding_id":"f","severity":"info","status":"open","title":"t","description":"d","kind":"k",
	"target_entry_id":"e","source_anchor":` + fullAnchor + `,"suggested_fix":"s","text_position":{"line":1.50},
	"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","extensions":{}}`

const fullScope = `{"scope_id":"s","entry_ids":[],"entry_types":["x"],"timeline_event_ids":["e"],"source_id":"m",
	"timeline_scale":"moment","fork_id":"f","extensions":{"a":{"limit":10}}}`

const anError = `{"code":"c","message":"m","details":{"a":1},"extensions":{}}`

var dataTypes = map[string]dataType{
	"knowledge-entry": typeOf[spoke.KnowledgeEntry](`{"schema_version":2,"entry_id":"e","entry_type":"t","canonical_name":"n","status":"s",
		"body":{"summary":"","tags":[],"attributes":[{"trait_type":"age","value":28,"display_type":"number","max_value":99.5},{"trait_type":"b","value":true}],
			"state":{"a":1.50,"b":null},"computable":{}},
		"source_anchor":` + fullAnchor + `,"revision":0,"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z",
		"extensions":{"x":{"n":1.50,"big":9007199254740993}},"modules":{"activation":{"n":1.0},"placement":[1e2]}}`),
	"relation": typeOf[spoke.Relation](`{"schema_version":1,"relation_id":"r","relation_type":"t","from_id":"a","to_id":"b","label":"",
		"metadata":{"weight":0.10},"revision":3,"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","extensions":{}}`),
	"timeline-event": typeOf[spoke.TimelineEvent](`{"schema_version":1,"timeline_event_id":"e","canonical_name":"n","timeline_scale":"moment",
		"occurred_at":"day 3","description":"d","participant_entry_ids":["a"],"source_anchor":` + fullAnchor + `,"sort_key":"1","fork_id":"f",
		"parent_fork_id":"p","computable_logs":[{"logged_at":"2026-01-02T03:04:05Z","entry_id":"e",
			"changes":[{"path":"a","previous":null,"next":1.50},{"path":"b"}],"session_id":"s","message":"m"}],
		"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","extensions":{},"modules":{}}`),
	"finding":       typeOf[spoke.Finding](fullFinding),
	"rule":          typeOf[spoke.Rule](fullRule),
	"scope":         typeOf[spoke.Scope](fullScope),
	"source-anchor": typeOf[spoke.SourceAnchor](fullAnchor),
	"mind-state": typeOf[spoke.MindState](`{"schema_version":1,"mind_state_id":"m","holder_entry_id":"h","canonical_name":"n",
		"occurred_at":"2026-01-02T03:04:05Z","sort_key":"1","snapshot":{"beliefs":[1.0]},"deltas":[],"source_anchor":` + fullAnchor + `,
		"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","extensions":{}}`),
	"assemble-packet": typeOf[spoke.AssemblePacket](`{"schema_version":1,"packet_id":"p",
		"entries":[{"entry_id":"e","entry_type":"t","canonical_name":"n","snippet":"s"}],"extensions":{},"modules":{"placement":[]}}`),
	"project-request":  typeOf[spoke.ProjectRequest](`{"session_id":"s","entry_id":"e","state":{"n":3},"extensions":{}}`),
	"project-response": typeOf[spoke.ProjectResponse](`{"session_id":"s","entry_id":"e","computable":{"n":3},"extensions":{}}`),
	"compute-request":  typeOf[spoke.ComputeRequest](`{"session_id":"s","entry_id":"e","computable":{"n":3},"settle":false,"extensions":{}}`),
	"compute-response": typeOf[spoke.ComputeResponse](`{"session_id":"s","entry_id":"e","computable":{"n":3},"state":{},"extensions":{}}`),
	"check-request":    typeOf[spoke.CheckRequest](`{"scope":` + fullScope + `,"rule_refs":[],"rules":[` + fullRule + `],"checker_kinds":["a"],"extensions":{}}`),
	"check-response":   typeOf[spoke.CheckResponse](`{"findings":[` + fullFinding + `],"extensions":{}}`),
	"error response":   typeOf[spoke.ComputeResponse](`{"error":` + anError + `,"extensions":{"a":{}}}`),
	"error answer":     typeOf[spoke.ProjectResponse](`{"error":` + anError + `}`),
	"error check":      typeOf[spoke.CheckResponse](`{"error":` + anError + `}`),
}

// compact drops insignificant white space and nothing else.
func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func TestDataTypesLoseNothingOnARoundTrip(t *testing.T) {
	for name, typ := range dataTypes {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, compact(t, typ.full), compact(t, typ.roundTrip(t, typ.full)), "number text included")
			more := strings.Replace(typ.full, "{", `{"later":{"b":[1.50,null]},"none":null,`, 1)
			assert.Equal(t, compact(t, more), compact(t, typ.roundTrip(t, more)), "members that this library does not know")
		})
	}
}

// Every place where an object stands keeps unknown members, not only the outermost.
func TestNestedObjectsKeepUnknownMembers(t *testing.T) {
	for name, typ := range dataTypes {
		if name == "error response" || name == "error answer" || name == "error check" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, nested := range []string{`"body":{`, `"span":{`, `"source_anchor":{`, `"trait_type"`, `"path":"b"`, `"logged_at"`, `"snippet"`, `"scope":{`} {
				if !strings.Contains(typ.full, nested) {
					continue
				}
				add := strings.TrimSuffix(nested, "{")
				more := strings.Replace(typ.full, nested, `"later":1.0,`+nested, 1)
				if add != nested {
					more = strings.Replace(typ.full, nested, nested+`"later":1.0,`, 1)
				}
				assert.Equal(t, compact(t, more), compact(t, typ.roundTrip(t, more)), nested)
			}
		})
	}
}

func TestAbsentMembersStayAbsent(t *testing.T) {
	for name, typ := range dataTypes {
		t.Run(name, func(t *testing.T) {
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(typ.full), &members))
			for member := range members {
				less := maps.Clone(members)
				delete(less, member)
				text, err := json.Marshal(less)
				require.NoError(t, err)
				if typ.decode(string(text)) == nil {
					assert.Equal(t, compact(t, string(text)), compact(t, typ.roundTrip(t, string(text))), "without %s", member)
				}
			}
		})
	}
}

// A zero value has its required members, lists as [] and objects as {}.
func TestZeroValuesEncodeListsAndMapsAsEmpty(t *testing.T) {
	for name, typ := range dataTypes {
		out, err := typ.zero()
		require.NoError(t, err, name)
		if name != "knowledge-entry" {
			assert.NotContains(t, string(out), "null", name)
		}
	}
	out, err := json.Marshal(spoke.AssemblePacket{})
	require.NoError(t, err)
	assert.JSONEq(t, `{"schema_version":0,"packet_id":"","entries":[],"extensions":{}}`, string(out))
}

// badValues are values of which at most one kind fits a member.
var badValues = []string{`null`, `"text"`, `7`, `true`, `[]`, `{}`, `[7]`, `1.5`, `-1`, `""`, `{"Bad":{}}`, `{"ok":7}`}

func TestEveryMemberIsCheckedAgainstItsType(t *testing.T) {
	for name, typ := range dataTypes {
		t.Run(name, func(t *testing.T) {
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(typ.full), &members))
			for member := range members {
				refused := 0
				for _, bad := range badValues {
					other := maps.Clone(members)
					other[member] = json.RawMessage(bad)
					text, err := json.Marshal(other)
					require.NoError(t, err)
					if err := typ.decode(string(text)); err != nil {
						refused++
						assert.Contains(t, err.Error(), member, "%s = %s", member, bad)
					}
				}
				assert.GreaterOrEqual(t, refused, 6, "%s accepts too much", member)
			}
		})
	}
}

func TestDecodingNamesTheMemberThatIsAtFault(t *testing.T) {
	entry := func(change string) string {
		return strings.Replace(`{"schema_version":1,"entry_id":"e","entry_type":"t","canonical_name":"n","status":"s","body":{},"extensions":{}}`, `"body":{}`, change, 1)
	}
	for text, want := range map[string]string{
		entry(`"x":1`):                                                 "body is missing",
		entry(`"body":{"tags":["a",7]}`):                               "body.tags[1] must be a string",
		entry(`"body":{"attributes":[{"trait_type":"a"}]}`):            "body.attributes[0].value is missing",
		entry(`"body":{"attributes":[{"trait_type":"a","value":[]}]}`): "body.attributes[0].value must be a string, a number, true or false",
		entry(`"body":{},"revision":-1`):                               "revision must be an integer of at least 0",
		entry(`"body":{},"revision":1.5`):                              "revision must be an integer of at least 0",
		entry(`"body":{},"created_at":"2026-01-02T3:04:05Z"`):          "created_at must be an RFC 3339 date and time",
		entry(`"body":{},"created_at":"yesterday"`):                    "created_at must be an RFC 3339 date and time",
		entry(`"body":{},"modules":{"a":7}`):                           "modules.a must be an object or a list",
		entry(`"body":{},"modules":{"A":{}}`):                          `modules has a name that is not a namespace: "A"`,
		entry(`"body":{},"source_anchor":{}`):                          "source_anchor.schema_version is missing",
		`[]`:                                                           "the value must be an object",
	} {
		var v spoke.KnowledgeEntry
		err := json.Unmarshal([]byte(text), &v)
		var wrong *shape.Error
		if assert.ErrorAs(t, err, &wrong, text) {
			assert.Equal(t, want, wrong.Error(), text)
		}
		assert.Zero(t, v)
	}
}

func TestAResponseCarriesAResultOrAnErrorButNotBoth(t *testing.T) {
	for text, want := range map[string]string{
		`{"session_id":"s","error":` + anError + `}`: "session_id must not stand beside error",
		`{"error":{"code":"c"}}`:                     "error.message is missing",
		`{"session_id":"s","entry_id":"e"}`:          "computable is missing",
	} {
		err := json.Unmarshal([]byte(text), new(spoke.ComputeResponse))
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), want)
		}
	}
	failed := spoke.ProjectResponse{SessionID: "s", Error: &spoke.ErrorEnvelope{Code: "c", Message: "m"}}
	out, err := json.Marshal(failed)
	require.NoError(t, err)
	assert.JSONEq(t, `{"error":{"code":"c","message":"m","extensions":{}}}`, string(out))
}

// fixtureTypes says of which type the toy-world documents are, by the first part of
// their names.
var fixtureTypes = map[string]string{
	"kb": "knowledge-entry", "rel": "relation", "evt": "timeline-event", "fnd": "finding", "rule": "rule",
	"anchor": "source-anchor", "mind": "mind-state", "pkt": "assemble-packet",
	"op_tw_check_request": "check-request", "op_tw_compute_request": "compute-request",
	"op_tw_compute_settle_request": "compute-request", "op_tw_compute_settle_response": "compute-response",
	"op_tw_project_request": "project-request", "op_tw_project_response": "project-response",
}

func TestTheReferenceToyWorldRoundTrips(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared.Vectors(t, "reference"), "toy-world", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var known int
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		prefix, _, _ := strings.Cut(name, "_")
		typ, ok := dataTypes[fixtureTypes[prefix]]
		if !ok {
			typ, ok = dataTypes[fixtureTypes[name]]
		}
		if !ok {
			continue // a manifest or an envelope
		}
		known++
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, compact(t, string(text)), compact(t, typ.roundTrip(t, string(text))), name)
	}
	assert.Equal(t, len(files), known+10, "documents of no type: 6 envelopes, 3 manifests, 1 descriptor")
}

// schema is the part of a reference schema that the test compares.
type schema struct {
	Required    []string                   `json:"required"`
	Properties  map[string]json.RawMessage `json:"properties"`
	OneOf       []schema                   `json:"oneOf"`
	Definitions map[string]schema          `json:"definitions"`
}

func readSchema(t *testing.T, file string) schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shared.Vectors(t, "reference"), "schemas", file))
	require.NoError(t, err)
	var s schema
	require.NoError(t, json.Unmarshal(text, &s))
	return s
}

func TestTheTypesAgreeWithTheReferenceSchemas(t *testing.T) {
	schemas := map[string]schema{"scope": readSchema(t, "common/common.schema.json").Definitions["Scope"]}
	for _, name := range []string{"knowledge-entry", "relation", "timeline-event", "finding", "rule", "source-anchor", "mind-state", "assemble-packet"} {
		schemas[name] = readSchema(t, "data/"+name+".schema.json")
	}
	for _, name := range []string{"project-request", "compute-request"} {
		schemas[name] = readSchema(t, name+".schema.json")
	}
	for _, name := range []string{"project-response", "compute-response"} {
		schemas[name] = readSchema(t, name+".schema.json").OneOf[0]
	}
	for name, want := range schemas {
		t.Run(name, func(t *testing.T) {
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(dataTypes[name].full), &members))
			assert.ElementsMatch(t, slices.Collect(maps.Keys(want.Properties)), slices.Collect(maps.Keys(members)))
			assert.ElementsMatch(t, want.Required, requiredOf(t, name))
		})
	}
}

// requiredOf finds out which members a type insists on.
func requiredOf(t *testing.T, name string) []string {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(dataTypes[name].full), &members))
	var required []string
	for member := range members {
		less := maps.Clone(members)
		delete(less, member)
		text, err := json.Marshal(less)
		require.NoError(t, err)
		if err := dataTypes[name].decode(string(text)); err != nil {
			assert.EqualError(t, err, member+" is missing")
			required = append(required, member)
		}
	}
	return required
}

func FuzzKnowledgeEntry(f *testing.F) {
	seeds := 0
	for _, typ := range dataTypes {
		f.Add([]byte(typ.full))
		seeds++
	}
	require.NotZero(f, seeds)
	f.Fuzz(func(t *testing.T, text []byte) {
		var e spoke.KnowledgeEntry
		if jcs.Check(text, 0) != nil || json.Unmarshal(text, &e) != nil {
			return
		}
		first, err := json.Marshal(e)
		require.NoError(t, err)
		var again spoke.KnowledgeEntry
		require.NoError(t, json.Unmarshal(first, &again), "%s", first)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
