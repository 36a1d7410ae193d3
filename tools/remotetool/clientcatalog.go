package remotetool

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spoke-peer/spoke-go/tools"
)

// Tool is what a peer says of one of its tools. Schemas and Encoding are there in
// definitions only, Runtime and Executable not in definitions.
//
// Source: remote tool spec, section 2.
type Tool struct {
	ID, Name, Description, Category string
	Policy                          tools.Policy
	Keywords                        string
	Prerequisites                   []string
	// Revision changes when anything changes that the tool says of itself, Runtime
	// apart. It is opaque.
	Revision        string
	ArgumentsSchema json.RawMessage
	ResultSchema    json.RawMessage
	// Encoding is how the tool gets its arguments: "" or flattened-string.
	Encoding string
	// Runtime is why the tool cannot run, or that it can.
	Runtime tools.Availability
	// Executable is whether a call has a chance to succeed.
	Executable bool
}

// Details of a query: what is told of each tool.
const (
	DetailIndex       = "index"
	DetailDefinitions = "definitions"
	DetailFull        = "full"
)

// Query asks for some tools. The zero Query asks for all of them, in full.
//
// Source: remote tool spec, section 2.
type Query struct {
	Detail string
	IDs    []string
	// Text and Feature are words that all have to occur in what a tool says of itself.
	Text, Feature  string
	Policy         tools.Policy
	ExecutableOnly bool
	// Limit is how many tools are wanted, at most 1000. Zero means 1000.
	Limit int
	// IfRevision and IfAvailabilityRevision are of an earlier answer: what has not
	// changed since is not sent again.
	IfRevision, IfAvailabilityRevision string
}

// Catalog is the answer to a query.
type Catalog struct {
	Revision             string
	AvailabilityRevision string
	// Unchanged says that the tools are those of IfRevision: Tools is nil. When
	// Changes is not nil, it has the state of every tool that is not available, by id,
	// in the place of all states before.
	Unchanged bool
	Changes   map[string]tools.Availability
	// Tools are what was asked for and the ceiling lets pass, sorted by id.
	Tools []Tool
	// TotalCount and Categories are of all tools that the peer shows. Not in
	// definitions.
	TotalCount int
	Categories map[string]int
}

// Query asks the peer; nothing that is kept is used or changed. See [Client.Tools] for
// what is kept.
//
// Source: remote tool spec, section 2.
func (c *Client) Query(ctx context.Context, q Query) (*Catalog, error) {
	got, err := c.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	got.Tools = c.under(got.Tools)
	return got, nil
}

// ask is Query without the ceiling.
func (c *Client) ask(ctx context.Context, q Query) (*Catalog, error) {
	got, err := c.request(ctx, TypeQuery, q.payload(), TypeCatalog, nil)
	if err != nil {
		return nil, err
	}
	return readCatalog(got, c.cfg.MaxTools)
}

func (q Query) payload() []byte {
	dst := []byte{'{'}
	for _, m := range []struct{ name, text string }{
		{"detail", q.Detail}, {"query", q.Text}, {"feature", q.Feature}, {"policy", string(q.Policy)},
		{"ifRevision", q.IfRevision}, {"ifAvailabilityRevision", q.IfAvailabilityRevision},
	} {
		dst = appendOptional(dst, m.name, m.text)
	}
	if len(q.IDs) > 0 {
		dst = appendList(dst, "ids", q.IDs)
	}
	if q.ExecutableOnly {
		dst = appendBool(dst, "executableOnly", true)
	}
	if q.Limit > 0 {
		dst = strconv.AppendInt(appendName(dst, "limit"), int64(q.Limit), 10)
	}
	return append(dst, '}')
}

// readCatalog reads a tool.catalog. A tool whose policy is unknown is read with that
// policy, which no ceiling permits; an answer with two tools of one id is refused.
//
// Source: remote tool spec, sections 2 and 8.
func readCatalog(payload json.RawMessage, most int) (*Catalog, error) {
	m, err := membersOf(payload)
	if err != nil {
		return nil, errorf(CodeProtocol, "the catalog cannot be read: %w", err)
	}
	if s, _ := textOf(m["schema"]); s != Schema {
		return nil, errorf(CodeProtocol, "the catalog is of schema %q", clip(s))
	}
	got := &Catalog{Unchanged: isTrue(m["unchanged"])}
	got.Revision, _ = textOf(m["revision"])
	got.AvailabilityRevision, _ = textOf(m["availabilityRevision"])
	if got.Revision == "" {
		return nil, errorf(CodeProtocol, "the catalog has no revision")
	}
	if got.Unchanged {
		got.Changes = readChanges(m["changes"])
		return got, nil
	}
	total, _ := wholeOf(m["totalCount"])
	got.TotalCount = int(total)
	got.Categories = readCounts(m["categories"])
	return got, got.readTools(m, most)
}

func (c *Catalog) readTools(m members, most int) error {
	var list []json.RawMessage
	if json.Unmarshal(m["tools"], &list) != nil || list == nil {
		return errorf(CodeProtocol, "the catalog has no list of tools")
	}
	if count, ok := wholeOf(m["count"]); ok && int(count) != len(list) {
		return errorf(CodeProtocol, "the catalog says %d tools and lists %d", count, len(list))
	}
	if len(list) > most {
		return errorf(CodeProtocol, "the catalog lists %d tools, at most %d are read", len(list), most)
	}
	seen := make(map[string]bool, len(list))
	c.Tools = make([]Tool, 0, len(list))
	for _, raw := range list {
		t, ok := readTool(raw)
		if !ok || seen[strings.ToLower(t.ID)] {
			return errorf(CodeProtocol, "the catalog has a tool without an id of its own")
		}
		seen[strings.ToLower(t.ID)] = true
		c.Tools = append(c.Tools, t)
	}
	slices.SortFunc(c.Tools, func(a, b Tool) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

func readTool(raw json.RawMessage) (Tool, bool) {
	m, err := membersOf(raw)
	if err != nil {
		return Tool{}, false
	}
	var policy string
	t := Tool{ArgumentsSchema: present(m["argumentsSchema"]), ResultSchema: present(m["resultSchema"])}
	for name, to := range map[string]*string{
		"id": &t.ID, "name": &t.Name, "description": &t.Description, "category": &t.Category, "policy": &policy,
		"keywords": &t.Keywords, "definitionRevision": &t.Revision, "argumentEncoding": &t.Encoding,
	} {
		*to, _ = textOf(m[name])
	}
	t.Policy = tools.Policy(strings.ToLower(policy))
	t.Prerequisites = stringsOf(m["prerequisiteToolIds"])
	t.Runtime, t.Executable = readState(m["runtime"])
	if string(m["executable"]) == "false" {
		t.Executable = false
	}
	return t, strings.TrimSpace(t.ID) != ""
}

// readState reads an availability; absent means available. An executable:false in it
// counts as well.
//
// Source: remote tool spec, section 4.
func readState(raw json.RawMessage) (tools.Availability, bool) {
	m, err := membersOf(raw)
	if err != nil {
		return tools.Available(), true
	}
	state := tools.Availability{Available: string(m["available"]) != "false", Retryable: isTrue(m["retryable"])}
	for name, to := range map[string]*string{
		"code": &state.Code, "reason": &state.Reason, "requiredState": &state.RequiredState, "remediation": &state.Remediation,
	} {
		*to, _ = textOf(m[name])
	}
	return state, state.Available && string(m["executable"]) != "false"
}

// readChanges reads the states of an availability-only answer. A tool that is available
// and not executable is told as unavailable.
func readChanges(raw json.RawMessage) map[string]tools.Availability {
	m, err := membersOf(raw)
	if err != nil {
		return nil
	}
	changes := make(map[string]tools.Availability, len(m))
	for id, value := range m {
		state, executable := readState(value)
		state.Available = executable
		changes[id] = state
	}
	return changes
}

func readCounts(raw json.RawMessage) map[string]int {
	m, err := membersOf(raw)
	if err != nil {
		return nil
	}
	counts := make(map[string]int, len(m))
	for name, value := range m {
		n, _ := wholeOf(value)
		counts[name] = int(n)
	}
	return counts
}

// under returns the tools that the ceiling lets pass.
func (c *Client) under(list []Tool) []Tool {
	return slices.DeleteFunc(list, func(t Tool) bool { return !c.cfg.MaxPolicy.Permits(t.Policy) })
}
