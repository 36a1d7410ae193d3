package remotetool

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/tools"
)

// maxListed is how many tools one answer lists.
//
// Source: remote tool spec, section 2.
const maxListed = 1000

// query is the request payload of tool.query.
type query struct {
	detail       string
	ids          map[string]bool
	terms        []string
	policy       string
	executable   bool
	limit        int
	revision     string
	availability string
}

// readQuery reads a payload; what is missing or of another type is not asked for.
//
// Source: remote tool spec, section 2.
func readQuery(payload json.RawMessage) query {
	m, _ := membersOf(payload)
	q := query{detail: strings.ToLower(m.trimmed("detail")), policy: m.trimmed("policy")}
	if q.detail != "index" && q.detail != "definitions" {
		q.detail = "full"
	}
	for _, id := range stringsOf(m["ids"]) {
		if id = strings.TrimSpace(id); id != "" {
			if q.ids == nil {
				q.ids = make(map[string]bool)
			}
			q.ids[id] = true
		}
	}
	q.terms = strings.Fields(searchText(m.trimmed("query"), m.trimmed("feature")))
	q.executable = isTrue(m["executableOnly"])
	q.limit = m.limit()
	q.revision, q.availability = m.trimmed("ifRevision"), m.trimmed("ifAvailabilityRevision")
	return q
}

func (m members) trimmed(name string) string {
	text, _ := textOf(m[name])
	return strings.TrimSpace(text)
}

// limit returns limit, else maxResults, clamped.
func (m members) limit() int {
	for _, name := range []string{"limit", "maxResults"} {
		if n, ok := wholeOf(m[name]); ok {
			return int(min(max(n, 1), maxListed))
		}
	}
	return maxListed
}

// wholeOf returns a whole number however it is written, saturated to what fits.
func wholeOf(raw json.RawMessage) (int64, bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if len(raw) == 0 || err != nil || f != math.Trunc(f) {
		return 0, false
	}
	return int64(min(max(f, -1<<53), 1<<53)), true
}

// answerQuery answers tool.query.
//
// Source: remote tool spec, section 2.
func (p *Provider) answerQuery(ctx context.Context, payload json.RawMessage) (string, []byte) {
	known, guard := p.catalogs.of(ctx, p.registry)
	if !guard.Discovery {
		return failed(errorf(CodeDiscoveryDisabled, "tools cannot be listed here"))
	}
	q := readQuery(payload)
	down, availability := known.probe(ctx)
	dst := appendText(appendText([]byte{'{'}, "schema", Schema), "revision", known.revision)
	switch {
	case q.detail == "definitions" || q.revision != known.revision:
		return TypeCatalog, known.list(dst, q, down, availability, p.now())
	case q.availability == "" || q.availability == availability:
		return TypeCatalog, append(appendBool(dst, "unchanged", true), '}')
	}
	dst = appendMoment(appendBool(dst, "unchanged", true), availability, p.now())
	return TypeCatalog, append(known.appendChanges(dst, down), '}')
}

func appendMoment(dst []byte, availability string, now time.Time) []byte {
	return appendText(appendText(dst, "availabilityRevision", availability), "evaluatedAtUtc", stamp(now))
}

// appendChanges appends the state of every tool that is down.
func (c *catalog) appendChanges(dst []byte, down map[int]tools.Availability) []byte {
	dst = append(appendName(dst, "changes"), '{')
	for i, x := range c.tools {
		if state, isDown := down[i]; isDown {
			dst = appendState(appendName(dst, x.id), state)
		}
	}
	return append(dst, '}')
}

// list appends the tools that the query selects, in its detail.
func (c *catalog) list(dst []byte, q query, down map[int]tools.Availability, availability string, now time.Time) []byte {
	selected := c.selected(q, down)
	dst = slices.Grow(dst, 1024+c.size(selected, q.detail))
	dst = append(appendName(dst, "tools"), '[')
	for n, i := range selected {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = c.entry(dst, i, q.detail, down)
	}
	dst = strconv.AppendInt(appendName(append(dst, ']'), "count"), int64(len(selected)), 10)
	if q.detail != "full" {
		dst = appendText(dst, "detail", q.detail)
	}
	if q.detail != "definitions" {
		dst = appendMoment(dst, availability, now)
		dst = strconv.AppendInt(appendName(dst, "totalCount"), int64(len(c.tools)), 10)
		dst = appendRaw(dst, "categories", c.categories)
	}
	return append(dst, '}')
}

func (c *catalog) size(selected []int, detail string) int {
	size := 0
	for _, i := range selected {
		if detail == "index" {
			size += len(c.tools[i].index) + 2
		} else {
			size += len(c.tools[i].full) + 2
		}
	}
	return size
}

func (c *catalog) entry(dst []byte, i int, detail string, down map[int]tools.Availability) []byte {
	x := c.tools[i]
	state, isDown := down[i]
	switch detail {
	case "index":
		return appendRuntime(append(dst, x.index...), state, isDown)
	case "definitions":
		return append(append(dst, x.full...), '}')
	}
	return appendRuntime(append(dst, x.full...), state, isDown)
}

// selected returns the places of the tools that pass the filters, in the order ids,
// policy, executableOnly, terms, limit.
//
// Source: remote tool spec, section 2.
func (c *catalog) selected(q query, down map[int]tools.Availability) []int {
	var list []int
	for i, x := range c.tools {
		if len(list) == q.limit {
			break
		}
		_, isDown := down[i]
		if (q.ids == nil || q.ids[x.id]) &&
			(q.policy == "" || strings.EqualFold(q.policy, string(x.policy))) &&
			!(q.executable && isDown) && x.matches(q.terms) {
			list = append(list, i)
		}
	}
	return list
}

func (x *definition) matches(terms []string) bool {
	for _, term := range terms {
		if !strings.Contains(x.search, term) {
			return false
		}
	}
	return true
}
