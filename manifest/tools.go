package manifest

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"

	"github.com/spoke-peer/spoke-go/spoke"
)

// ValidateTools applies the rules about tools that hold between the members of a
// manifest. Members may be of any type. The first failure is returned as a
// [*spoke.Reject] of code INVALID_INPUT.
//
// Capabilities and namespaces must be arrays, else details.field names the one that is
// not. Then for each tool in order: the descriptor is well formed (an id of the
// grammar, op equal to it, input and output objects), the id is in capabilities, the
// namespace is in namespaces (else details.namespace), and no tool before has the id
// (else details.duplicate_of). Those have details.field "tools", details.index and, if
// it is a string, details.capability_id.
//
// Source: wire spec, section 6.
func ValidateTools(raw json.RawMessage) error {
	m, err := parseObject(raw, "manifest")
	if err != nil {
		return err
	}
	rule, tools, err := toolRuleOf(m)
	if err != nil {
		return err
	}
	for i, tool := range tools {
		if f := rule.check(i, factsOf(tool)); f != nil {
			return f.reject()
		}
	}
	return nil
}

// ListTools returns the tools that keep the rules of [ValidateTools], in the order of
// declaration. A tool that breaks one is left out and does not hide the others. Nil
// when there are none.
func ListTools(m *spoke.HostCapabilityManifest) []spoke.ToolDescriptor {
	return slices.Collect(discover(m))
}

// FindTool returns the tool of [ListTools] with the id.
func FindTool(m *spoke.HostCapabilityManifest, id string) (spoke.ToolDescriptor, bool) {
	for d := range discover(m) {
		if d.CapabilityID == id {
			return d, true
		}
	}
	return spoke.ToolDescriptor{}, false
}

// discover yields the tools that keep the rule.
func discover(m *spoke.HostCapabilityManifest) iter.Seq[spoke.ToolDescriptor] {
	return func(yield func(spoke.ToolDescriptor) bool) {
		rule := newToolRule(m.Capabilities, m.Namespaces)
		for i, d := range m.Tools {
			if rule.check(i, factsOfDescriptor(d)) == nil && !yield(d) {
				return
			}
		}
	}
}

// toolFacts are what the rule asks about one descriptor.
type toolFacts struct {
	id        string
	hasID     bool // capability_id is a string
	twoIDs    bool // op and capability_id are both tool ids
	sameOp    bool // op is that string
	hasInput  bool // input is an object
	hasOutput bool // output is an object
}

// factsOf reads a descriptor's canonical text; no object has no facts.
func factsOf(tool json.RawMessage) toolFacts {
	m, _ := objectOf(tool)
	id, hasID := stringOf(m["capability_id"])
	op, hasOp := stringOf(m["op"])
	return toolFacts{
		id:        id,
		hasID:     hasID,
		twoIDs:    ValidToolID(id) && ValidToolID(op),
		sameOp:    hasOp && op == id,
		hasInput:  isObject(m["input"]),
		hasOutput: isObject(m["output"]),
	}
}

// factsOfDescriptor takes a nil schema for {}, as encoding it does.
func factsOfDescriptor(d spoke.ToolDescriptor) toolFacts {
	return toolFacts{
		id:        d.CapabilityID,
		hasID:     true,
		twoIDs:    ValidToolID(d.CapabilityID) && ValidToolID(d.Op),
		sameOp:    d.Op == d.CapabilityID,
		hasInput:  d.Input == nil || isObject(d.Input),
		hasOutput: d.Output == nil || isObject(d.Output),
	}
}

// toolRule is the rule between tools, capabilities and namespaces. It remembers the
// tools that kept it.
type toolRule struct {
	capabilities set
	namespaces   set
	index        map[string]int // of the tools so far, by id
}

type set map[string]struct{}

func setOf(list []string) set {
	s := make(set, len(list))
	for _, item := range list {
		s[item] = struct{}{}
	}
	return s
}

func (s set) has(item string) bool {
	_, ok := s[item]
	return ok
}

func newToolRule(capabilities, namespaces []string) *toolRule {
	return &toolRule{setOf(capabilities), setOf(namespaces), make(map[string]int)}
}

// toolRuleOf returns the rule and the tools of a manifest's members.
func toolRuleOf(m members) (*toolRule, []json.RawMessage, error) {
	capabilities, ok := stringsOf(m["capabilities"])
	if !ok {
		return nil, nil, invalidField("capabilities", "capabilities must be an array")
	}
	namespaces, ok := stringsOf(m["namespaces"])
	if !ok {
		return nil, nil, invalidField("namespaces", "namespaces must be an array")
	}
	raw, declared := m["tools"]
	tools, ok := arrayOf(raw)
	if declared && !ok {
		return nil, nil, invalidField("tools", "tools must be an array")
	}
	return newToolRule(capabilities, namespaces), tools, nil
}

const opDiffers = "is not equal to capability_id"

// toolFault is how one tool breaks the rule.
type toolFault struct {
	index     int
	facts     toolFacts
	member    string // the member of the descriptor to blame
	message   string
	malformed bool // the descriptor itself is at fault

	detail string // a further member of the details, if any
	value  any
}

// check returns the first way in which the tool breaks the rule, nil when it does not.
func (r *toolRule) check(index int, f toolFacts) *toolFault {
	for fault := range r.faults(index, f) {
		return fault
	}
	return nil
}

// faults yields every way in which the tool breaks the rule. What depends on an id that
// is none, or on an id that no other tool should have, is not asked.
func (r *toolRule) faults(index int, f toolFacts) iter.Seq[*toolFault] {
	return func(yield func(*toolFault) bool) {
		sound := true
		report := func(fault *toolFault) bool {
			sound = false
			fault.index, fault.facts = index, f
			return yield(fault)
		}
		if r.malformed(f, report) && r.unlisted(f, report) && sound {
			r.index[f.id] = index
		}
	}
}

// malformed reports what is wrong with the descriptor itself, false when nobody wants to
// hear more.
func (r *toolRule) malformed(f toolFacts, report func(*toolFault) bool) bool {
	for _, c := range []struct {
		ok              bool
		member, message string
	}{
		{f.hasID && ValidToolID(f.id), detailCapabilityID, "is not a tool id"},
		{f.sameOp, "op", opDiffers},
		{f.hasInput, "input", "is not an object"},
		{f.hasOutput, "output", "is not an object"},
	} {
		if !c.ok && !report(&toolFault{member: c.member, message: c.message, malformed: true}) {
			return false
		}
	}
	return true
}

// unlisted reports what the manifest does not say about the tool's id, and an id that is
// taken.
func (r *toolRule) unlisted(f toolFacts, report func(*toolFault) bool) bool {
	namespace, _, ok := splitToolID(f.id)
	if !f.hasID || !ok {
		return true
	}
	blame := func(message string) *toolFault {
		return &toolFault{member: detailCapabilityID, message: message}
	}
	if !r.capabilities.has(f.id) && !report(blame("is not listed in capabilities")) {
		return false
	}
	if !r.namespaces.has(namespace) && !report(blame("is not of a namespace in namespaces").with(detailNamespace, namespace)) {
		return false
	}
	first, seen := r.index[f.id]
	return !seen || report(blame("is the id of an earlier tool").with(detailDuplicateOf, float64(first)))
}

func (f *toolFault) with(detail string, value any) *toolFault {
	f.detail, f.value = detail, value
	return f
}

func (f *toolFault) path() string { return toolPath(f.index) + "/" + f.member }

// ofSchema reports whether the schema of descriptors says it as well.
func (f *toolFault) ofSchema() bool {
	return f.malformed && !(f.message == opDiffers && f.facts.twoIDs)
}

func toolPath(index int) string { return "/tools/" + strconv.Itoa(index) }

func (f *toolFault) reject() *spoke.Reject {
	r := invalidField("tools", "%s %s", f.path(), f.message).WithDetail(detailIndex, float64(f.index))
	if f.facts.hasID {
		r = r.WithDetail(detailCapabilityID, f.facts.id)
	}
	if f.detail != "" {
		r = r.WithDetail(f.detail, f.value)
	}
	return r
}
