package manifest

import (
	"embed"
	"encoding/json"
	"sync"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/manifest/internal/draft7"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// document is the schema of one of this package's own documents. It stands alone: a
// descriptor within a manifest is held to its schema separately.
type document func() (*draft7.Schema, error)

var (
	manifestDocument   = newDocument("schemas/host-capability-manifest.schema.json")
	descriptorDocument = newDocument("schemas/tool-descriptor.schema.json")
)

func newDocument(file string) document {
	return sync.OnceValues(func() (*draft7.Schema, error) {
		text, err := schemaFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return draft7.Compile(text, false)
	})
}

// problems holds canonical text to the schema.
func (d document) problems(text json.RawMessage) []Problem {
	schema, err := d()
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	return reported(schema.Validate(text))
}

// Validate holds the JSON text of a manifest to all its rules: its draft-07 schema, in
// which unknown members are a problem; the rules of [ValidateTools], each that a tool
// breaks and not only the first; and that a peer would run each tool's input and output
// schema, within the bounds of trust [Peer]. It returns at most [MaxProblems], nil for a
// manifest without one.
//
// Source: wire spec, sections 4 and 6.
func Validate(raw json.RawMessage) []Problem { return validate(raw, Peer) }

// ValidateOwn is [Validate] for a manifest of this side's: the schemas of its tools are
// judged within the bounds of trust [Own], so they may recurse.
func ValidateOwn(raw json.RawMessage) []Problem { return validate(raw, Own) }

func validate(raw json.RawMessage, trust Trust) []Problem {
	text, err := jcs.Canonical(raw)
	if err != nil {
		return []Problem{{Message: clip(err.Error())}}
	}
	problems := manifestDocument.problems(text)
	if m, ok := objectOf(text); ok {
		problems = append(problems, toolProblems(m, trust, MaxProblems-len(problems))...)
	}
	return problems
}

// toolProblems returns up to most problems of a manifest's tools.
func toolProblems(m members, trust Trust, most int) []Problem {
	capabilities, _ := stringsOf(m["capabilities"])
	namespaces, _ := stringsOf(m["namespaces"])
	tools, _ := arrayOf(m["tools"])
	rule := newToolRule(capabilities, namespaces)
	var problems []Problem
	for i, tool := range tools {
		if len(problems) >= most {
			break
		}
		problems = append(problems, toolProblemsAt(rule, i, tool, trust)...)
	}
	return problems[:min(len(problems), most)]
}

// toolProblemsAt returns the problems of one tool. What the schema of descriptors says is
// not said twice.
func toolProblemsAt(rule *toolRule, i int, tool json.RawMessage, trust Trust) []Problem {
	problems := placed(toolPath(i), descriptorProblems(tool, trust))
	said := len(problems) > 0
	for f := range rule.faults(i, factsOf(tool)) {
		if !said || !f.ofSchema() {
			problems = append(problems, Problem{Path: f.path(), Message: f.message})
		}
	}
	return problems
}

// ValidateDescriptor holds the JSON text of one tool descriptor to its draft-07 schema
// and to the rules that need no manifest: op equals capability_id, and a peer would run
// its input and output schema. Nil for a descriptor without problems.
//
// Source: wire spec, section 6.
func ValidateDescriptor(raw json.RawMessage) []Problem { return validateDescriptor(raw, Peer) }

// ValidateOwnDescriptor is [ValidateDescriptor] for a tool of this side's: its schemas are
// judged within the bounds of trust [Own], so they may recurse.
func ValidateOwnDescriptor(raw json.RawMessage) []Problem { return validateDescriptor(raw, Own) }

func validateDescriptor(raw json.RawMessage, trust Trust) []Problem {
	text, err := jcs.Canonical(raw)
	if err != nil {
		return []Problem{{Message: clip(err.Error())}}
	}
	problems := descriptorProblems(text, trust)
	if f := factsOf(text); !f.sameOp && (len(problems) == 0 || f.twoIDs) {
		problems = append(problems, Problem{Path: "/op", Message: opDiffers})
	}
	return problems
}

// descriptorProblems returns the problems of a descriptor's members, each by itself.
func descriptorProblems(text json.RawMessage, trust Trust) []Problem {
	problems := descriptorDocument.problems(text)
	m, _ := objectOf(text)
	for _, member := range []string{"input", "output"} {
		problems = append(problems, schemaProblems("/"+member, m[member], trust)...)
	}
	return problems
}

// schemaProblems returns why the schema would not be run. What is no object is left to
// the descriptor's schema.
func schemaProblems(path string, schema json.RawMessage, trust Trust) []Problem {
	if !isObject(schema) {
		return nil
	}
	if err := draft7.Judge(schema, trust != Own); err != nil {
		e := schemaErrorAt(path, err)
		return []Problem{{Path: e.Path, Message: "unsupported schema: " + e.Reason}}
	}
	return nil
}
